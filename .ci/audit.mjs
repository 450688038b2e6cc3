// Reads the report of `npm audit --json` from standard input and fails on an advisory about what the service ships.
// A registry that serves no advisories (a mirror, or none in reach) is a note: a build must not depend on it.
import { text } from "node:stream/consumers";

const report = readReport(await text(process.stdin));
if (report.auditReportVersion === undefined) console.log("audit: the registry serves no advisories");
else {
  const found = Object.values(report.vulnerabilities);
  for (const { name, range, severity } of found) console.log(`audit: ${severity}: ${name} ${range}`);
  if (found.length === 0) console.log("audit: no advisories");
  else process.exitCode = 1;
}

function readReport(json) {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
