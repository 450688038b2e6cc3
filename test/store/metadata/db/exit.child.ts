/** Ends the process with code 3 while threads of a store are in calls of libsql, after the milliseconds given. */
import { openLocalThreads } from "../../../../store/metadata/db/connection/local-threads.js";

const [path = "", ms = "0", counted = "1"] = process.argv.slice(2);
const { read } = await openLocalThreads(path);
const statement = {
  sql: "with recursive c(i) as (select 1 union all select i + 1 from c where i < ?) select i, 'a' b, x'00' c from c",
  args: [Number(counted)],
};
const ask = (): Promise<void> => read([statement]).then(ask);
for (let n = 0; n < 4; n++) void ask();
setTimeout(() => process.exit(3), Number(ms));
