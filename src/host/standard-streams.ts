/** What becomes of a command whose output nobody reads any more. */
import { asError } from "../../store/lib/errors.js";

/** As a shell shows a process that SIGPIPE has ended: 128 and its number. */
const endedByPipe = 141;

/**
 * A command ends where its output has lost its reader, as in `tidemark export … | head`: without a word, by the code of
 * SIGPIPE, because the output is not whole. Any other failure of the output is an error.
 */
export function endWithReader(): void {
  process.stdout.on("error", (error: unknown) => {
    if (isReaderGone(error)) process.exit(endedByPipe);
    process.stderr.write(`tidemark: cannot write to standard output: ${asError(error).message}\n`);
    process.exit(1);
  });
}

/** Progress and errors that nobody reads stop no work. */
export function goOnWithoutErrorOutput(): void {
  process.stderr.on("error", () => undefined);
}

const isReaderGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "EPIPE";
