/** Commands to devices that other nodes keep: routed, sent and confirmed there, logged here. */
import type { Elsewhere } from "../../ingest/directory/by-shard.js";
import type { Directory } from "../../ingest/directory/directory.js";
import { asError } from "../../store/lib/errors.js";
import type { Command, Commands } from "./commands.js";
import { type NodeAnswers, type NodeCall, nodeAnswers, targetsPerCallMax } from "./node-calls.js";
import type { CommandRoute } from "./routing.js";

interface Ways {
  /** Where the device of this record id is kept; null: here. */
  placeOf(device: number): Promise<Pick<Elsewhere, "node"> | null>;
  /** A node's answer to a call, as JSON. @throws Error if it does not answer */
  call(node: number | null, call: NodeCall, timeoutMs: number): Promise<unknown>;
  readonly directory: Pick<Directory, "get">;
  readonly onFault: (error: Error) => void;
}

/** Null: none keeps the devices now, and none can be asked. */
type Node = number | null;

/** What all devices of one call have in common. */
type Shared = Pick<Command, "topic"> & Partial<Command>;

const none = new Uint8Array();
/** Timeouts: of calls before a log is written, and of calls that send and wait until that is kept. */
const [askMs, sendMs] = [5_000, 30_000];
const base64 = (payload: Uint8Array): string => Buffer.from(payload).toString("base64");
const truths = (answers: NodeAnswers): boolean[] => answers.map((one) => one === true);
const grants = (answers: NodeAnswers): (CommandRoute["qos"] | null)[] =>
  answers.map((one) => (typeof one === "number" ? one : null));

/** Groups requests about many devices in one turn of the loop into one call for each node. */
export function throughCluster(here: Commands, { placeOf, call, directory, onFault }: Ways): Commands {
  const nodes = new WeakMap<CommandRoute, Node>();
  const callOtherNode = async (node: Node, request: NodeCall): Promise<NodeAnswers> =>
    nodeAnswers.parse(await call(node, request, request.call === "send" ? sendMs : askMs));

  const routes = gathering<number, CommandRoute["qos"] | null>((node, { topic, qos = 0 }, targets) =>
    callOtherNode(node, { call: "route", topic, qos, targets }).then(grants),
  );
  const there = gathering<number, boolean>((node, { topic }, targets) =>
    callOtherNode(node, { call: "isConnected", topic, targets }).then(truths),
  );
  const sends = gathering<{ device: number; logID: number; groupLogIntID: number | null }, boolean>(
    (node, command, logged) => {
      const { topic, payload = none, qos = 0, ttl = 0 } = command;
      return callOtherNode(node, { call: "send", topic, payload: base64(payload), qos, ttl, logged }).then(
        truths,
      );
    },
  );
  const members = gathering<number, boolean>((node, { topic, payload = none }, targets) =>
    callOtherNode(node, { call: "sendToMembers", topic, payload: base64(payload), targets }).then(truths),
  );

  return {
    ...here,
    routeTo: async (target, command) => {
      const place = await placeOf(target.id);
      if (place === null) return here.routeTo(target, command);
      const { node } = place;
      const to = await directory.get(target.id);
      // A node that does not answer reaches nobody now.
      const qos = await routes(node, command, target.id).catch(() => null);
      if (to === undefined || qos === null) return null;
      const route: CommandRoute = { to, relayedTo: null, outlives: false, qos, isLive: false };
      nodes.set(route, node);
      return route;
    },
    send: (route, logged, command) => {
      const node = nodes.get(route);
      if (node === undefined) return here.send(route, logged, command);
      return sends(node, command, { device: route.to.id, ...logged }).then(
        (isKept) => isKept === true,
        (error: unknown) => {
          // It may have been sent: a receipt, its ttl or the owner's next start decides its status.
          onFault(asError(error));
          return false;
        },
      );
    },
    isConnected: async (target, topic) => {
      const place = await placeOf(target.id);
      if (place === null) return here.isConnected(target, topic);
      return there(place.node, { topic }, target.id).then(
        (isThere) => isThere === true,
        () => false,
      );
    },
    sendToMember: (target, topic, payload) => {
      void placeOf(target.id)
        .then((place) => {
          if (place === null) here.sendToMember(target, topic, payload);
          else return members(place.node, { topic, payload }, target.id);
          return null;
        })
        .catch((error: unknown) => onFault(asError(error)));
      return true;
    },
  };
}

interface Gathered<Item, Answer> {
  readonly node: Node;
  readonly shared: Shared;
  readonly items: Item[];
  readonly answers: Promise<readonly Answer[]>;
}

/** Asks one by one what `run` asks at once: all that have been asked of a node about the same, in one turn. */
function gathering<Item, Answer>(
  run: (node: Node, shared: Shared, items: readonly Item[]) => Promise<readonly Answer[]>,
): (node: Node, shared: Shared, item: Item) => Promise<Answer | null> {
  let open: Gathered<Item, Answer>[] = [];
  const isSame = (a: Shared, b: Shared): boolean =>
    a.topic === b.topic && a.payload === b.payload && a.qos === b.qos && a.ttl === b.ttl;

  function begin(node: Node, shared: Shared): Gathered<Item, Answer> {
    const items: Item[] = [];
    const answers = new Promise<readonly Answer[]>((resolve, reject) => {
      setImmediate(() => {
        open = open.filter((one) => one.items !== items);
        run(node, shared, items).then(resolve, reject);
      });
    });
    const gathered = { node, shared, items, answers };
    open.push(gathered);
    return gathered;
  }

  return async (node, shared, item) => {
    const found = open.find(
      (one) => one.node === node && one.items.length < targetsPerCallMax && isSame(one.shared, shared),
    );
    const { items, answers } = found ?? begin(node, shared);
    const place = items.push(item) - 1;
    return (await answers)[place] ?? null;
  };
}
