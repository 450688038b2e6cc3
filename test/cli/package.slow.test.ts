/** The package as `npm pack` makes it: it starts in an empty folder, on a machine that has Node and nothing else. */
import { execFileSync, spawn } from "node:child_process";
import { mkdir, readdir, realpath, rename, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { basicOf } from "../ingest/transports/http/support.js";
import { repositoryRoot } from "../repository.js";
import { assert, suite, withTempDir } from "../suite.js";
import type { Rec } from "../world.js";

const root = repositoryRoot();

/** What npm and npx themselves run. */
const tools = ["sh", "env"] as const;

/** A PATH of Node, npm and a shell: no compiler, no git, no Python. */
async function bareTools(dir: string): Promise<string> {
  const bin = join(dir, "bin");
  await mkdir(bin);
  await symlink(process.execPath, join(bin, "node"));
  const npmFolder = dirname(
    await realpath(execFileSync("sh", ["-c", "command -v npm"], { encoding: "utf8" }).trim()),
  );
  for (const name of ["npm", "npx"]) await symlink(join(npmFolder, `${name}-cli.js`), join(bin, name));
  for (const name of tools) {
    const found = execFileSync("sh", ["-c", `command -v ${name}`], { encoding: "utf8" }).trim();
    await symlink(found, join(bin, name));
  }
  return bin;
}

suite("package", (test) => {
  test(
    "npx of the tarball serves in an empty folder, and takes a message",
    () =>
      withTempDir(async (dir) => {
        // Outside of CI another build may be under way here, which prepack would begin anew.
        const scripts = process.env.CI === "true" ? [] : ["--ignore-scripts"];
        execFileSync("npm", ["pack", "--pack-destination", dir, "--silent", ...scripts], { cwd: root });
        const [tarball] = (await readdir(dir)).filter((name) => name.endsWith(".tgz"));
        assert.match(tarball ?? "", /^tidemark-\d+\.\d+\.\d+\.tgz$/);
        const listed = execFileSync("tar", ["tzf", join(dir, String(tarball))], { encoding: "utf8" }).split(
          "\n",
        );
        for (const wanted of [
          "package/src/tidemark.mjs",
          "package/dist/service/src/main.js",
          "package/LICENSE",
        ])
          assert.ok(listed.includes(wanted), wanted);
        const strange = listed.filter((name) => /\/(test|bench|node_modules|data)\//.test(name));
        assert.equal(strange, []);
        const empty = join(dir, "empty");
        await mkdir(empty);
        await rename(join(dir, String(tarball)), join(empty, String(tarball)));
        const env = {
          PATH: await bareTools(dir),
          HOME: process.env.HOME ?? dir,
          HTTP_PORT: "0",
          MQTT_PORT: "0",
          FREE_BYTES_MIN: "0",
          ...Object.fromEntries(
            Object.entries(process.env).filter(([name]) =>
              /^npm_config_(cache|registry|userconfig)$/i.test(name),
            ),
          ),
          ...Object.fromEntries(
            ["HTTPS", "MQTTS", "MQTTSS", "WS", "WSS"].map((name) => [`${name}_PORT`, "off"]),
          ),
        };
        const child = spawn("npx", ["--yes", `./${tarball}`, "serve"], {
          cwd: empty,
          env,
          detached: true,
          stdio: ["ignore", "pipe", "pipe"],
        });
        let errors = "";
        child.stderr.on("data", (chunk) => {
          errors += chunk;
        });
        try {
          const address = await new Promise<string>((resolve, reject) => {
            child.once("exit", (code) => reject(new Error(`ended with ${code}: ${errors.slice(-2000)}`)));
            createInterface({ input: child.stdout }).on("line", (line) => {
              const { msg, http } = JSON.parse(line) as { msg: string; http: string };
              if (msg === "listening") resolve(http);
            });
          });
          const health = (await (await fetch(`${address}/healthz`)).json()) as Record<string, unknown>;
          assert.equal([health.status, health.engine], ["ok", "embedded"]);
          assert.is(`tidemark-${health.version}.tgz`, tarball);
          await sendOne(address, join(empty, "data"));
        } finally {
          // One that has ended by itself has said why.
          if (child.exitCode === null && child.signalCode === null) {
            process.kill(-(child.pid as number), "SIGTERM");
            await new Promise((resolve) => child.once("close", resolve));
          }
        }
      }),
    { timeoutMs: 240_000 },
  );
});

/** A device of the first start's key posts a message. */
async function sendOne(http: string, dataDir: string): Promise<void> {
  const { readFile } = await import("node:fs/promises");
  const first = JSON.parse(await readFile(join(dataDir, "first-start.json"), "utf8")) as { apiKey: string };
  const make = async (path: string, body: object): Promise<Rec> => {
    const headers = { Authorization: `Bearer ${first.apiKey}`, "Content-Type": "application/json" };
    const response = await fetch(http + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.is(response.status, 201);
    return (await response.json()) as Rec;
  };
  const product = await make("/api/v1/products", { productName: "packed", cloudProtocol: 5 });
  const device = await make("/api/v1/devices", {
    productID: product.productID,
    cloudProtocol: 5,
    deviceName: "packed",
    deviceID: "packed",
    deviceType: 1,
    upLinkSystem: 1,
    authType: 1,
  });
  const headers = { Authorization: basicOf(device), "Content-Type": "application/json" };
  const sent = await fetch(`${http}/api/v1/uplinks/data`, { method: "POST", headers, body: '{"n":1}' });
  assert.is(sent.status, 204);
}
