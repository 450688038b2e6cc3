/** `tidemark verify`: a sound folder is sound, running or not; what is changed in it is found and named. */
import { execFile } from "node:child_process";
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createClient } from "@libsql/client/sqlite3";
import { provision, startService } from "../flow/support.js";
import { asDevice } from "../ingest/transports/http/support.js";
import { program } from "../program.js";
import { assert, suite, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";

interface Verified {
  readonly sound: boolean;
  readonly journal: { readonly records: number; readonly segments: number };
  readonly series: { readonly chunks: number; readonly points: number };
  readonly findings: readonly { readonly file: string; readonly fault: string; readonly means: string }[];
}

function verify(
  dir: string,
): Promise<{ readonly code: number; readonly verified: Verified; readonly errors: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, "verify", dir], { env: {} }, (error, stdout, errors) =>
      resolve({
        code: error === null ? 0 : Number(error.code),
        verified: JSON.parse(stdout === "" ? "{}" : stdout) as Verified,
        errors,
      }),
    );
  });
}

const lines = 200;

suite("verify", (test) => {
  test(
    "a running service's folder is sound; a changed byte of a record or a chunk is found",
    () =>
      withTempDir(async (dir) => {
        const data = join(dir, "data");
        const service = await startService(data);
        const [device] = (await provision(service, 1)) as [Rec];
        const body = Array.from({ length: lines }, (_, n) => `{"topic":"data","payload":{"n":${n}}}\n`).join(
          "",
        );
        const http = String(service.addresses.http);
        assert.is((await asDevice(http, device, "POST", "/api/v1/uplinks", body)).status, 200);
        await service.settled();
        const live = await verify(data);
        assert.equal([live.code, live.verified.sound], [0, true], JSON.stringify(live));
        assert.ok(live.verified.journal.records >= lines);
        await service.stop();
        const ended = await verify(data);
        assert.equal([ended.code, ended.verified.series.points], [0, lines], JSON.stringify(ended));

        const [segment = ""] = (await readdir(join(data, "journal"))).filter((name) =>
          name.endsWith(".journal"),
        );
        const bytes = await readFile(join(data, "journal", segment));
        for (let round = 0; round < 6; round++) {
          const copy = join(dir, `copy-${round}`);
          await cp(data, copy, { recursive: true });
          const changed = Buffer.from(bytes);
          // Its end may be a commit under way.
          const at = round === 0 ? 20 : 64 + Math.floor(Math.random() * (bytes.length * 0.8));
          changed[at] = (changed[at] as number) ^ (1 << Math.floor(Math.random() * 8));
          await writeFile(join(copy, "journal", segment), changed);
          const { code, verified } = await verify(copy);
          assert.equal([code, verified.sound], [1, false], `byte ${at}`);
          assert.ok(
            verified.findings.every(({ file, means }) => file.endsWith(segment) && means.length > 10),
          );
        }

        // Whatever is missing is found.
        for (const [file, name] of [
          ["metadata.db", "metadata.db"],
          ["series/catalog.db", "catalog.db"],
          ["part", "points-"],
        ] as const) {
          const copy = join(dir, `without-${name}`);
          await cp(data, copy, { recursive: true });
          const [part = ""] = (await readdir(join(copy, "series"))).filter((one) =>
            one.startsWith("points-"),
          );
          await rm(join(copy, file === "part" ? `series/${part}` : file));
          const { code, verified } = await verify(copy);
          assert.is(code, 1, name);
          assert.equal(
            verified.findings.map(({ fault }) => fault),
            ["it is missing"],
          );
          assert.match(verified.findings[0]?.file ?? "", name);
        }

        const copy = join(dir, "copy-points");
        await cp(data, copy, { recursive: true });
        const [part = ""] = (await readdir(join(copy, "series"))).filter((name) =>
          /^points-.*\.db$/.test(name),
        );
        const client = createClient({ url: `file:${join(copy, "series", part)}` });
        await client.execute("update chunk set data = zeroblob(length(data)) where id = 1");
        client.close();
        const broken = await verify(copy);
        assert.is(broken.code, 1);
        assert.match(
          broken.verified.findings[0]?.fault ?? "",
          /^chunk 1: \d+ points of series 1 from .*: its checksum differs$/,
        );

        await writeFile(
          join(copy, "metadata.db"),
          "not a database at all, but long enough to look like one ".repeat(9),
        );
        const { verified } = await verify(copy);
        assert.ok(
          verified.findings.some(
            ({ file, fault }) => file.endsWith("metadata.db") && fault === "it is not a database",
          ),
        );
      }),
    { timeoutMs: 120_000 },
  );

  test("what is no data folder is said so, and nothing is made there", () =>
    withTempDir(async (dir) => {
      const { code, errors } = await verify(dir);
      assert.is(code, 1);
      assert.match(errors, /is no data folder/);
      assert.equal(await readdir(dir), []);
    }));
});
