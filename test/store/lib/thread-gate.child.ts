/** Threads that are in libsql nearly all the time, each ended from outside through its gate; prints how many. */
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { createClient } from "@libsql/client";
import { nextTurn } from "../../../store/lib/scheduling.js";
import { createThreadGate, gateCells } from "../../../store/lib/thread-gate.js";

const threads = 12;

if (isMainThread) {
  for (let n = 0; n < threads; n++) {
    const cells = gateCells();
    const worker = new Worker(new URL(import.meta.url), { workerData: cells });
    await new Promise((resolve) => worker.once("message", resolve));
    // Another moment of its work each time.
    for (let turns = n % 7; turns > 0; turns--) await nextTurn();
    const gate = createThreadGate(cells);
    while (!gate.shut()) await nextTurn();
    await worker.terminate();
  }
  process.stdout.write(`${threads}\n`);
} else {
  const gate = createThreadGate(workerData as Int32Array<SharedArrayBuffer>);
  const client = createClient({ url: "file::memory:", concurrency: 1 });
  const ask = () => gate.within(() => client.execute("select count(*), 'a', x'00' from sqlite_schema"));
  await ask();
  parentPort?.postMessage("up");
  // Like the threads of the service, it lives until it is ended.
  setInterval(() => undefined, 60_000);
  for (;;) {
    // The gate is shut: the thread is being ended.
    if ((await ask().catch(() => null)) === null) await new Promise(() => undefined);
    // Now and then there is a moment outside of it.
    await nextTurn();
  }
}
