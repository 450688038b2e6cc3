/** Finds, or fetches once, what a Kafka broker consists of. */
import { readFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { cacheDir, isThere, makeOnce, runStep, which } from "../made-once.js";
import { repositoryRoot } from "../repository.js";

/** `lib`: the folder of its jars. */
type Found = { readonly lib: string } | { readonly missing: string };

const pom = join(repositoryRoot(), "test/kafka/pom.xml");

/** The version that the pom names. */
const version = (): string =>
  /<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(readFileSync(pom, "utf8"))?.[1] ?? "";

/**
 * The jars in the cache, else those that Maven fetches (a minute; progress on stderr). `missing` says in one line why
 * there are none. Under the runner: what the runner found.
 */
export async function findKafka(): Promise<Found> {
  const { TIDEMARK_TEST_KAFKA: path, TIDEMARK_TEST_KAFKA_MISSING: missing } = process.env;
  if (path) return { lib: path };
  if (missing) return { missing };
  if (!(await which("java")))
    return { missing: "no java to run Kafka: apt-get install openjdk-17-jre-headless" };
  const lib = join(cacheDir(), `kafka-${version()}`);
  if (await isThere(lib)) return { lib };
  if (!(await which("mvn"))) return { missing: "no mvn to fetch Kafka with: apt-get install maven" };
  try {
    await makeOnce(lib, () => fetchJars(lib), say);
    return { lib };
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    say(`cannot fetch: ${cause}`);
    return { missing: `Maven could not fetch Kafka ${version()}: ${cause.split("\n").at(-1)}` };
  }
}

async function fetchJars(lib: string): Promise<void> {
  const draft = `${lib}.${process.pid}`;
  say("not found; Maven fetches it once, 43 MB");
  try {
    const flags = ["--batch-mode", "--file", pom, "-DincludeScope=runtime", `-DoutputDirectory=${draft}`];
    await runStep(["mvn", "dependency:copy-dependencies", ...flags], {}, say);
    await rename(draft, lib);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function say(text: string): void {
  process.stderr.write(`kafka ${version()}: ${text}\n`);
}
