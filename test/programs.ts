/** Programs of others that some suites speak with: whether they are there, and how to get them, in one line. */
import { spawnSync } from "node:child_process";
import type { Body, Test } from "./suite.js";

/** Program → the Debian package that brings it. */
const packages = {
  mosquitto: "mosquitto",
  mosquitto_pub: "mosquitto-clients",
  mosquitto_sub: "mosquitto-clients",
  openssl: "openssl",
  promtool: "prometheus",
  "systemd-analyze": "systemd",
  soffice: "libreoffice-calc-nogui",
} as const;

type Program = keyof typeof packages;

/** Why it cannot be used here and what to do about it, or null. */
export function programMissing(program: Program): string | null {
  const { error } = spawnSync(program, [program === "openssl" ? "version" : "--help"]);
  return error === undefined ? null : `${program} is not installed: apt-get install ${packages[program]}`;
}

/** What to do where the Python of PYTHON_WITH_PEERS, else `python3`, lacks `modules`. */
export function modulesMissing(...modules: readonly string[]): string {
  return (
    `no ${modules.join(", ")} in Python: python3 -m venv peers && peers/bin/pip install ` +
    `${modules.join(" ")}, then set PYTHON_WITH_PEERS=peers/bin/python`
  );
}

/** A test that needs openssl; it is skipped where there is none. */
export function testWithOpenssl(test: Test, name: string, body: Body): void {
  const reason = programMissing("openssl");
  if (reason === null) test(name, body);
  else test.skip(name, reason);
}
