import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createThreadGate, gateCells } from "../../../store/lib/thread-gate.js";
import { assert, suite } from "../../suite.js";

suite("a thread's gate", (test) => {
  test("nobody shuts it while somebody is in, and nobody enters once it is shut", async () => {
    const cells = gateCells();
    const [inside, outside] = [createThreadGate(cells), createThreadGate(cells)];
    let leave: () => void = () => undefined;
    const staying = inside.within(() => new Promise<void>((resolve) => (leave = resolve)));
    const second = inside.within(async () => "in beside it");
    assert.not(outside.shut());
    assert.is(await second, "in beside it");
    assert.not(outside.shut(), "the first is in still");
    leave();
    await staying;
    assert.ok(outside.shut());
    assert.ok(outside.shut(), "it stays shut");
    let ran = false;
    const refused = await inside.within(async () => (ran = true)).catch((error: Error) => error.message);
    assert.is(refused, "the thread is being ended");
    assert.not(ran);
  });

  test("what fails within leaves it", async () => {
    const gate = createThreadGate(gateCells());
    await gate.within(() => Promise.reject(new Error("full"))).catch(() => undefined);
    assert.ok(gate.shut());
  });

  // Without a gate the process aborts within the first few.
  test("twelve threads that are ended amid libsql leave the process alive", async () => {
    const program = fileURLToPath(new URL("./thread-gate.child.js", import.meta.url));
    const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "pipe"] });
    let printed = "";
    child.stdout.on("data", (chunk) => (printed += String(chunk)));
    child.stderr.on("data", (chunk) => (printed += String(chunk)));
    const ended = await new Promise((resolve) =>
      child.once("close", (code, signal) => resolve(signal ?? code)),
    );
    assert.is(ended, 0, printed);
    assert.is(printed, "12\n");
  });
});
