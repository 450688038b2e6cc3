import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { assert, networksSuite, until } from "../suite.js";
import { type Networks, openNetworks, type Place } from "./networks.js";

const networksUrl = new URL("./networks.js", import.meta.url).href;
/** Far longer than a packet takes, and than a refusal would. */
const silenceMs = 1500;

networksSuite("networks that can be cut", (test) => {
  let networks: Networks;
  let places: [Place, Place, Place];
  const echoes: Awaited<ReturnType<typeof startEcho>>[] = [];
  test.before(async () => {
    networks = await openNetworks();
    places = [await networks.add(), await networks.add(), await networks.add()];
    for (const place of places) echoes.push(await startEcho(place));
  });
  test.after.each(() => networks.heal());
  test.after(async () => {
    for (const echo of echoes) await echo.stop();
    await networks.close();
  });

  const portOf = (place: Place): number => echoes[places.indexOf(place)]?.port ?? 0;
  /** Whether `from` gets an answer of `to`; null: it hears nothing, not even a refusal. */
  const asks = (from: Place, to: Place): boolean | null => {
    const script = `const socket = require("node:net").connect(${portOf(to)}, "${to.host}");
      setTimeout(() => process.exit(3), ${silenceMs}).unref();
      socket.on("error", () => process.exit(4)).on("data", () => process.exit(0)).write("a");`;
    const [command = "", ...words] = [...from.command, process.execPath, "--eval", script];
    const { status } = spawnSync(command, words);
    return status === 0 ? true : status === 3 ? null : false;
  };
  /** From this process. */
  async function talkTo(place: Place): Promise<{ readonly socket: Socket; heard: string }> {
    const socket = connect(portOf(place), place.host);
    const talk = { socket, heard: "" };
    socket.on("data", (piece) => {
      talk.heard += String(piece);
    });
    await once(socket, "connect");
    return talk;
  }

  test("every place reaches every other, and is reached from here", async () => {
    for (const from of places) for (const to of places) assert.is(asks(from, to), true);
    for (const place of places) {
      const talk = await talkTo(place);
      talk.socket.write("here");
      await until(() => talk.heard === "here", { what: "the echo" });
      talk.socket.destroy();
    }
  });

  test("packets between those that are parted vanish without a word; others notice nothing", async () => {
    const [one, two, three] = places;
    await networks.part([one], [two]);
    assert.equal([asks(one, two), asks(two, one)], [null, null]);
    assert.equal([asks(one, three), asks(three, two), asks(two, three)], [true, true, true]);
    await networks.heal();
    assert.equal([asks(one, two), asks(two, one)], [true, true]);
  });

  test("one direction alone is cut, under a connection that is open: what was said comes once it is healed", async () => {
    const [one] = places;
    const us: Place = { host: networks.host, command: [] };
    const talk = await talkTo(one);
    await networks.cut(one, us);
    const heardByOne = echoes[0]?.heard() ?? 0;
    talk.socket.write("hello");
    await until(() => (echoes[0]?.heard() ?? 0) > heardByOne, { what: "the direction that is not cut" });
    await new Promise((resolve) => setTimeout(resolve, silenceMs));
    assert.equal([talk.heard, talk.socket.destroyed], ["", false]);
    await networks.heal();
    await until(() => talk.heard === "hello", { what: "the echo" });
    talk.socket.destroy();
  });

  test("they go with the process that made them, even by SIGKILL", async () => {
    const source = `import { openNetworks } from ${JSON.stringify(networksUrl)};
      const networks = await openNetworks(); await networks.add();
      console.log("open"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", source], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const left = (): number =>
      String(spawnSync("ip", ["netns", "list"]).stdout).split(`tidemark-${child.pid}-`).length - 1;
    await once(child.stdout, "data");
    assert.is(left(), 2);
    child.kill("SIGKILL");
    await until(() => left() === 0, { what: "the removal of the namespaces" });
  });
});

/** Starts a server in its network that echoes what it receives. */
async function startEcho(place: Place) {
  const script = `const server = require("node:net").createServer((socket) => {
      socket.on("error", () => {}).on("data", (piece) => { console.log(piece.length); socket.write(piece); });
    }).listen(0, "${place.host}", () => console.log(server.address().port));`;
  const [command = "", ...words] = [...place.command, process.execPath, "--eval", script];
  const child = spawn(command, words, { stdio: ["ignore", "pipe", "inherit"] });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  await until(() => lines.length > 0, { what: "the port" });
  return {
    port: Number(lines[0]),
    /** Counts the pieces that it has received. */
    heard: () => lines.length - 1,
    stop: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
