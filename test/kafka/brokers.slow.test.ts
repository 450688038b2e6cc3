import { spawn } from "node:child_process";
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { assert, kafkaSuite, rejects, suite, until, withTempDir } from "../suite.js";

const findUrl = new URL("./find-kafka.js", import.meta.url).href;
const brokersUrl = new URL("./brokers.js", import.meta.url).href;

suite("finding Kafka", (test) => {
  test("names what is not there: java, then mvn", () =>
    withTempDir(async (dir) => {
      const noJava = "no java to run Kafka: apt-get install openjdk-17-jre-headless";
      assert.equal(await find(dir, dir), { missing: noJava });
      await fakeProgram(join(dir, "java"), "exit 1");
      assert.equal(await find(dir, dir), { missing: "no mvn to fetch Kafka with: apt-get install maven" });
    }));

  test("takes the jars in the cache without Maven", () =>
    withTempDir(async (dir) => {
      await fakeProgram(join(dir, "java"), "exit 1");
      await mkdir(join(dir, "tidemark", "kafka-4.1.1"), { recursive: true });
      assert.equal(await find(dir, dir), { lib: join(dir, "tidemark", "kafka-4.1.1") });
    }));

  test("says how a fetch failed, and leaves neither lock nor draft", () =>
    withTempDir(async (dir) => {
      await fakeProgram(join(dir, "java"), "exit 1");
      await fakeProgram(join(dir, "mvn"), "echo no route to the repository >&2; exit 1");
      const missing = "Maven could not fetch Kafka 4.1.1: no route to the repository";
      assert.equal(await find(dir, dir), { missing });
      assert.equal(await readdir(join(dir, "tidemark")), []);
    }));
});

kafkaSuite("Kafka brokers for tests", (test, brokers) => {
  test("a node is killed and started again on its folder and port", async () => {
    const { nodes } = await brokers();
    const [node] = nodes;
    assert.ok(node);
    const first = node.pid;
    await rejects(() => node.start(), /it is running/);
    await node.kill();
    assert.is(node.pid, undefined);
    await rejects(() => opened(node.port), /ECONNREFUSED/);
    assert.throws(() => node.freeze(), /it is not running/);
    await node.start();
    assert.is.not(node.pid, first);
    await opened(node.port);
  });

  test("they die with the process that started them, even by SIGKILL, and their folder goes", () =>
    withTempDir(async (dir) => {
      const source = `import { startBrokers } from ${JSON.stringify(brokersUrl)};
        const { nodes } = await startBrokers(1); nodes[0].freeze();
        console.log(nodes[0].pid); setInterval(() => {}, 1000);`;
      const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
        stdio: ["ignore", "pipe", "inherit"],
        env: { ...process.env, TMPDIR: dir },
      });
      const pid = Number(await new Promise((resolve) => child.stdout.once("data", resolve)));
      assert.ok(pid > 0);
      child.kill("SIGKILL");
      await until(() => !isAlive(pid), { what: "the end of Kafka" });
      // The JVM keeps its own folder of statistics beside ours.
      const left = async () => (await readdir(dir)).filter((name) => name.startsWith("tidemark-"));
      await until(async () => (await left()).length === 0, { what: "the removal of its folder" });
    }));
});

async function fakeProgram(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

/** findKafka in a process that sees nothing but `path` and keeps its cache in `cache`. */
async function find(path: string, cache: string): Promise<unknown> {
  const source = `import { findKafka } from ${JSON.stringify(findUrl)};
    console.log(JSON.stringify(await findKafka()));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "ignore"],
    env: { PATH: path, XDG_CACHE_HOME: cache },
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await new Promise((resolve) => child.once("close", resolve));
  return JSON.parse(output);
}

function opened(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve();
    });
    socket.once("error", reject);
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
