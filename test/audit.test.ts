import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { repositoryRoot } from "./repository.js";
import { assert, suite } from "./suite.js";

// The reports have the form that npm 10 and 11 print; the advisory is one of npm's published ones.
suite("audit of dependencies in CI", (test) => {
  test("an advisory ends the run with its package, range and severity", () => {
    const report = {
      auditReportVersion: 2,
      vulnerabilities: { minimist: { name: "minimist", severity: "critical", range: "<=0.2.3" } },
      metadata: { vulnerabilities: { critical: 1, total: 1 } },
    };
    assert.equal(audit(JSON.stringify(report)), { status: 1, text: "audit: critical: minimist <=0.2.3\n" });
  });

  test("a report without advisories passes", () =>
    assert.equal(audit('{"auditReportVersion":2,"vulnerabilities":{}}'), {
      status: 0,
      text: "audit: no advisories\n",
    }));

  test("a registry that serves no advisories, or does not answer, is a note", () => {
    const note = { status: 0, text: "audit: the registry serves no advisories\n" };
    assert.equal(audit('{"message":"405 Method Not Allowed","method":"POST"}'), note);
    assert.equal(audit(""), note);
  });
});

function audit(report: string): { status: number | null; text: string } {
  const { status, stdout } = spawnSync(process.execPath, [join(repositoryRoot(), ".ci", "audit.mjs")], {
    input: report,
    encoding: "utf8",
  });
  return { status, text: stdout };
}
