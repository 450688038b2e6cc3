/**
 * The interface, line by line, over HTTP against a real service: once deployed as Variant A, once as Variant B,
 * each in a process of its own; test/cluster asks the same lines of three nodes.
 * A line that does not hold fails; what each says is printed. A further line is one entry under lines/.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readExamples } from "../../src/reference/recorded.js";
import { openDb } from "../../store/metadata/db/db.js";
import { assert, type Test } from "../suite.js";
import { worldSuite } from "../world.js";
import { openFixture } from "./fixture.js";
import { examine, type Line, type Scope, type Target } from "./line.js";
import { certLines, policyLines } from "./lines/access.js";
import { beyondLines } from "./lines/beyond.js";
import { commandLines } from "./lines/commands.js";
import { consoleLines } from "./lines/console.js";
import { conventionLines, errorLines, serviceLines } from "./lines/conventions.js";
import { createRuleLines } from "./lines/create-rules.js";
import { dashboardLines } from "./lines/dashboards.js";
import { deviceLines } from "./lines/devices.js";
import { enumerationLines } from "./lines/enumerations.js";
import { gatewayLines } from "./lines/gateways.js";
import { groupLines } from "./lines/groups.js";
import { alertLines, logLines } from "./lines/logs.js";
import { dataLines, dataPointLines, dataStreamLines, metricLines, resourceLines } from "./lines/model.js";
import { notificationLines } from "./lines/notifications.js";
import { productLines } from "./lines/products.js";
import { createRecorder, writeExamples } from "./recorded.js";

const table: readonly Line[] = [
  ...conventionLines,
  ...deviceLines,
  ...createRuleLines,
  ...dataLines,
  ...commandLines,
  ...groupLines,
  ...gatewayLines,
  ...productLines,
  ...dataPointLines,
  ...dataStreamLines,
  ...metricLines,
  ...resourceLines,
  ...logLines,
  ...alertLines,
  ...policyLines,
  ...certLines,
  ...enumerationLines,
  ...errorLines,
  ...serviceLines,
  ...beyondLines,
  ...notificationLines,
  ...dashboardLines,
  ...consoleLines,
];

/** A suite with a service of its own, deployed as that variant. */
export function conformance(variant: "A" | "B"): void {
  const dir = mkdtempSync(join(tmpdir(), "tidemark-conformance-"));
  const url = `file:${join(dir, "metadata.db")}`;
  const environment = { API_VARIANT: variant, LIBSQL_URL: url, MASTER_KEY: "5".repeat(64) };
  worldSuite(
    `conformance, Variant ${variant}`,
    (test, opened) => {
      const recorder = createRecorder(opened, variant);
      defineLines(test, variant, () => ({ target: recorder.world, metadataUrl: url }));
      test.after(() => rmSync(dir, { recursive: true, force: true }));
      if (process.env.TIDEMARK_RECORD_EXAMPLES === "1") {
        test.after(() => writeExamples(variant, recorder.examples()));
      }
      test("the reference's examples are bodies that were accepted here, and answers as they are here", () => {
        const help = "see CONTRIBUTING.md, Test, for how they are recorded anew";
        assert.equal(recorder.missing(readExamples(variant)), [], help);
      });
    },
    environment,
  );
}

interface Deployment {
  readonly target: Target;
  readonly metadataUrl: string;
}

/** A test for each line of the variant, asked of what is open once the suite has begun. */
export function defineLines(test: Test, variant: "A" | "B", deployed: () => Deployment): void {
  const own = table.filter((line) => line.in.includes(variant));
  let scope: Scope = new Map();
  let held = 0;
  test.before(async () => {
    const { target, metadataUrl } = deployed();
    scope = await openFixture(target);
    scope.set("alerts", await storeAlerts(metadataUrl, scope));
  });
  test.after(() => {
    console.log(`Variant ${variant}: ${own.length} lines, ${held} hold, ${own.length - held} fail`);
  });
  for (const [index, line] of own.entries()) {
    const name = `${line.says} · ${line.call} · ${variant}`;
    test(`${index + 1} ${name}`, async () => {
      const wrong = await examine(deployed().target, line, variant, scope);
      if (wrong.length === 0) held++;
      console.log(
        wrong.length === 0 ? `holds  §${name}` : `FAILS  §${name}: ${wrong.slice(0, 8).join("; ")}`,
      );
      assert.equal(wrong, []);
    });
  }
}

/** Alerts come of messages, never through the interface: these are written where the service reads them. */
async function storeAlerts(url: string, scope: Scope): Promise<{ current: number; past: number }> {
  const device = scope.get("device") as { readonly id: number } | undefined;
  if (device === undefined) return { current: 0, past: 0 };
  const db = await openDb({ url, shared: true });
  const at = Date.now();
  const ids: number[] = [];
  for (const [cause, endTime] of [
    ["one", null],
    ["two", null],
    ["three", at],
    ["four", at],
  ] as const) {
    const [result] = await db.write([
      {
        sql: `insert into alert (tenant, deviceIntID, cause, alertName, alertContent, alertSeverity, alertTimes,
                alertDetail, startTime, endTime, createAt)
              values (1, ?, ?, 'point t故障', 'point t故障: E1', 1, 2, '{"t": 1}', ?, ?, ?)`,
        args: [device.id, cause, at, endTime, at],
      },
    ]);
    ids.push(Number(result?.lastInsertRowid));
  }
  await db.close();
  return { current: ids[0] ?? 0, past: ids[2] ?? 0 };
}
