import { suite } from "../../../suite.js";
import { journalContract } from "../contract.js";
import { createMemoryLog, type MemoryLog } from "../memory-log.js";
import { openInLog } from "./support.js";

suite("journal in a log", (test) => {
  const logs = new Map<string, MemoryLog>();
  journalContract(test, (dir, options) => {
    const log = logs.get(dir) ?? createMemoryLog();
    logs.set(dir, log);
    return openInLog(dir, log.connect(), options);
  });
});
