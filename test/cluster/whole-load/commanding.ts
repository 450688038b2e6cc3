/** Commands to devices, to a group and by schedule, given at any node while nodes and brokers go and come. */
import { setTimeout as pause } from "node:timers/promises";
import { type CommandListener, createListener } from "../../flow/command-listener.js";
import type { AnyService, Reply } from "../../flow/support.js";
import { assert, until } from "../../suite.js";
import type { Rec } from "../../world.js";
import { keepRunning } from "./steady.js";

export interface Commanding {
  readonly devices: readonly Rec[];
  /** By place of the device. */
  readonly listeners: readonly CommandListener[];
  /** Payloads of commands to single devices, whose answer said that they were confirmed. */
  readonly successful: ReadonlySet<string>;
  /** Payloads of schedules that were taken: each of one device. */
  readonly scheduled: readonly string[];
  /** Payloads of commands to the group that were taken. */
  readonly toGroup: readonly string[];
  /** One to the group and a schedule for each device, due in some seconds. */
  beginRound(): Promise<void>;
  /** Resolves once nothing is sent any more, every schedule has run and the devices hang up. */
  end(): Promise<void>;
}

const betweenMs = 100;
/** A call to a node that has been frozen is given up, as its caller would. */
const patienceMs = 8000;
const dueInMs = 6000;

/** @param anyNode a node that runs, another each time */
export async function startCommanding(
  devices: readonly Rec[],
  address: string,
  anyNode: () => AnyService,
): Promise<Commanding> {
  const listeners = devices.map((device) => createListener(device));
  const connections = listeners.map((listener) =>
    keepRunning(listener, address, () => listener.acknowledged.size),
  );
  const group = await anyNode().make("/api/v1/groups", {
    groupName: "listeners",
    productID: devices[0]?.productID,
  });
  const members = { ids: devices.map(({ id }) => id) };
  const joined = await anyNode().call("POST", `/api/v1/groups/${group.id}/devices`, members);
  assert.is(joined.status, 201, joined.text);
  const successful = new Set<string>();
  const scheduled: string[] = [];
  const toGroup: string[] = [];
  const tasks: string[] = [];
  let made = 0;
  let isOver = false;

  async function post(path: string, body: object): Promise<Reply | null> {
    const patience = new AbortController();
    const given = anyNode()
      .call("POST", path, body)
      .catch(() => null);
    const tooLong = pause(patienceMs, null, { signal: patience.signal }).catch(() => null);
    const reply = await Promise.race([given, tooLong]);
    patience.abort();
    return reply;
  }

  async function sendAll(): Promise<void> {
    for (; !isOver; await pause(betweenMs)) {
      const { deviceID } = devices[made % devices.length] as Rec;
      const payload = `c${made++}`;
      const reply = await post("/api/v1/device_publish", { deviceID, payload });
      if (reply?.body.publishStatus === "successful") successful.add(payload);
    }
  }
  const sending = sendAll();

  const isDue = async (): Promise<boolean> => {
    const { body } = await anyNode().call("GET", "/api/v1/schedule_publish?scheduleType=0&_limit=1");
    return (body.items as Rec[]).length > 0;
  };

  const hasEnded = async (task: string): Promise<boolean> =>
    (await anyNode().call("GET", task)).body.state === "SUCCESS";

  return {
    devices,
    listeners,
    successful,
    scheduled,
    toGroup,
    beginRound: async () => {
      const payload = `g${toGroup.length}`;
      const reply = await post("/api/v1/group_publish", { groupID: group.groupID, payload });
      if (reply?.status === 201) {
        toGroup.push(payload);
        tasks.push(`/api/v1${reply.body.statusUrl}`);
      }
      const dueAt = new Date(Math.ceil((Date.now() + dueInMs) / 1000) * 1000);
      const crontabTime = dueAt.toISOString().slice(0, 19).replace("T", " ");
      for (const { deviceID } of devices) {
        const payload = `s${made++}`;
        const schedule = { deviceID, payload, scheduleName: "round", scheduleType: 0, crontabTime };
        const reply = await post("/api/v1/device_schedule_publish", schedule);
        if (reply?.status === 201) scheduled.push(payload);
      }
    },
    end: async () => {
      isOver = true;
      await sending;
      await until(async () => !(await isDue()), { what: "every schedule to have run" });
      for (const task of tasks) await until(() => hasEnded(task), { what: "a command to the group to end" });
      // What waits for them comes before they hang up.
      await until(async () => (await openLogs(anyNode())) === 0, { what: "every command to be settled" });
      await Promise.all(connections.map((connection) => connection.end()));
    },
  };
}

/** How many commands are issued, and neither confirmed nor failed. */
async function openLogs(node: AnyService): Promise<number> {
  const { body } = await node.call("GET", "/api/v1/device_control_logs?publishStatus=1&_limit=1");
  return (body.meta as { count: number }).count;
}
