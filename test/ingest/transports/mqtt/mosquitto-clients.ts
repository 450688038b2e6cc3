/** The clients of the Mosquitto project, as an operator would use them at a prompt. */
import { spawn } from "node:child_process";
import type { Rec } from "../../../world.js";

interface Ran {
  readonly code: number | null;
  readonly output: string;
}

/** Runs `mosquitto_pub` or `mosquitto_sub` as the device until it ends by itself. */
export function mosquitto(
  program: "mosquitto_pub" | "mosquitto_sub",
  address: string,
  device: Rec,
  args: readonly string[],
): Promise<Ran> {
  const { hostname, port } = new URL(address);
  const who = ["-u", String(device.deviceUsername), "-P", String(device.token)];
  const child = spawn(program, ["-h", hostname, "-p", port, ...who, ...args]);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk) => {
      output += String(chunk);
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
}
