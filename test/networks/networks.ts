/**
 * Network namespaces that processes run in, so that they can be cut off from each other: packets vanish on their way
 * and neither side gets an error, as when a cable is pulled. Each direction is cut by itself.
 *
 * Every namespace has a pair of virtual interfaces to a router, a namespace as well, whose rules let packets vanish.
 */
import { execFile, spawnSync } from "node:child_process";
import { promisify } from "node:util";
import { atDeath } from "../guard.js";
import { which } from "../made-once.js";

/** Where a process runs, and how the others reach it. */
export interface Place {
  readonly host: string;
  /** What its command line begins with. */
  readonly command: readonly string[];
}

/** Where everything runs that has no network of its own. */
export const here: Place = { host: "127.0.0.1", command: [] };

export interface Networks {
  /** This process's address, as those in namespaces reach it. */
  readonly host: string;
  /** A namespace of its own, which reaches all others and this process. */
  add(): Promise<Place>;
  /** From now on packets from `from` to `to` vanish. */
  cut(from: Place, to: Place): Promise<void>;
  /** Cuts each of `some` off from each of `others`, in both directions. */
  part(some: readonly Place[], others: readonly Place[]): Promise<void>;
  /** Nothing is cut any more. */
  heal(): Promise<void>;
  /** Removes all of them; what runs there must have ended. */
  close(): Promise<void>;
}

/** Why there can be no namespaces here, in one line. */
export function networksMissing(): string | undefined {
  if (process.platform !== "linux") return "network namespaces are Linux's";
  if (process.getuid?.() !== 0) return "network namespaces need root";
  const { error } = spawnSync("ip", ["-V"]);
  if (error !== undefined) return "ip is not installed: apt-get install iproute2";
  const { status, stderr } = spawnSync("unshare", ["--net", "ip", "link", "add", "type", "veth"]);
  return status === 0
    ? undefined
    : `no network namespaces with veth: ${String(stderr).trim().split("\n")[0]}`;
}

const ip = (...words: readonly string[]) => promisify(execFile)("ip", words);

/** What is for measurements between networks (RFC 2544) is in nobody's use; each process takes another part of it. */
const subnet = `198.${18 + ((process.pid >> 8) & 1)}.${process.pid & 255}`;
const routerHost = `${subnet}.254`;
const host = `${subnet}.253`;

const router = "router";
const forwards =
  "echo 1 > /proc/sys/net/ipv4/ip_forward; for one in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $one; done";

export async function openNetworks(): Promise<Networks> {
  // What runs there need not know our PATH.
  const program = (await which("ip")) ?? "ip";
  const name = (of: string | number) => `tidemark-${process.pid}-${of}`;
  const letGo = atDeath(
    'for one in $(ip netns list | cut -d " " -f 1); do case "$one" in "$1"*) ip netns del "$one";; esac; done',
    name(""),
  );
  const cuts: (readonly [from: string, to: string])[] = [];
  let places = 0;
  const inRouter = (...words: readonly string[]) => ip("-n", name(router), ...words);

  await ip("netns", "add", name(router));
  await ip("netns", "exec", name(router), "sh", "-c", forwards);
  await inRouter("link", "set", "lo", "up");
  await inRouter("addr", "add", `${routerHost}/32`, "dev", "lo");
  const own = `td${process.pid}`;
  await ip("link", "add", own, "type", "veth", "peer", "name", "to-us", "netns", name(router));
  await ip("addr", "add", `${host}/32`, "dev", own);
  await ip("link", "set", own, "up");
  await inRouter("link", "set", "to-us", "up");
  await inRouter("route", "add", `${host}/32`, "dev", "to-us");
  await ip("route", "add", `${subnet}.0/24`, "via", routerHost, "dev", own, "onlink");

  async function cut(from: Place, to: Place): Promise<void> {
    cuts.push([from.host, to.host]);
    await inRouter("rule", "add", "from", from.host, "to", to.host, "blackhole");
  }

  return {
    host,
    add: async () => {
      const number = ++places;
      const [at, link] = [`${subnet}.${number}`, `to-${number}`];
      const inside = (...words: readonly string[]) => ip("-n", name(number), ...words);
      await ip("netns", "add", name(number));
      await inRouter("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", name(number));
      await inside("addr", "add", `${at}/32`, "dev", "eth0");
      await inside("link", "set", "lo", "up");
      await inside("link", "set", "eth0", "up");
      await inRouter("link", "set", link, "up");
      await inRouter("route", "add", `${at}/32`, "dev", link);
      await inside("route", "add", "default", "via", routerHost, "dev", "eth0", "onlink");
      return { host: at, command: [program, "netns", "exec", name(number)] };
    },
    cut,
    part: async (some, others) => {
      for (const one of some)
        for (const other of others) {
          await cut(one, other);
          await cut(other, one);
        }
    },
    heal: async () => {
      for (const [from, to] of cuts.splice(0))
        await inRouter("rule", "del", "from", from, "to", to, "blackhole");
    },
    close: async () => {
      for (let number = 1; number <= places; number++) await ip("netns", "del", name(number));
      // With it go the interfaces to it, and our route.
      await ip("netns", "del", name(router));
      letGo();
    },
  };
}
