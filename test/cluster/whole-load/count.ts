/** The count at the end: what was acknowledged is there once, and every log says what has happened. */
import { type AnyService, controlLogsOf, payloadsOf, valuesOf } from "../../flow/support.js";
import { assert } from "../../suite.js";
import type { Rec } from "../../world.js";
import type { Commanding } from "./commanding.js";
import type { WholeLoad } from "./load.js";
import type { Publishing } from "./publishing.js";

export interface Counted {
  readonly messages: number;
  readonly commands: number;
  readonly schedules: number;
}

/** Counts the results of a load that has ended and settled. @throws where one is lost, doubled or wrongly published */
export async function count(load: WholeLoad, anyNode: () => AnyService): Promise<Counted> {
  for (const one of load.publishing) await countMessages(one, anyNode);
  const commands = await countCommands(load.commanding, anyNode);
  return {
    messages: load.publishing.reduce((sum, { publisher }) => sum + publisher.sent, 0),
    commands,
    schedules: load.commanding.scheduled.length,
  };
}

const numberOf = (payload: string): number => (JSON.parse(payload) as { n: number }).n;
const inOrder = (numbers: readonly number[]): number[] => numbers.toSorted((a, b) => a - b);

async function countMessages(one: Publishing, anyNode: () => AnyService): Promise<void> {
  const { kind, device, publisher, receiver } = one;
  // Everything that was sent has been acknowledged.
  const all = Array.from({ length: publisher.sent }, (_, n) => n);
  assert.is(publisher.acknowledged.size, all.length);
  const messages = (await payloadsOf(anyNode(), device)).map(numberOf);
  sameNumbers(inOrder(messages), all, `${kind.name}: messages`);
  sameNumbers(inOrder(await valuesOf(anyNode(), device)), all, `${kind.name}: points`);
  const taken = receiver.taken.map(numberOf);
  if (kind.qos === 2) sameNumbers(taken, all, `${kind.name}: what the subscriber heard, in order`);
  else sameNumbers(inOrder([...new Set(taken)]), all, `${kind.name}: what the subscriber heard`);
  assert.not(receiver.present.slice(1).includes(false), `${kind.name}: a session was lost`);
  const { body } = await anyNode().call("GET", `/api/v1/current_alerts?deviceIntID=${device.id}`);
  const times = (body.items as Rec[]).map(({ alertTimes }) => alertTimes);
  assert.equal(times, [all.length], `${kind.name}: one alert, which counts each message`);
}

/** Compares long lists; says what differs and not all that there is. */
function sameNumbers(found: readonly number[], expected: readonly number[], what: string): void {
  const [has, wanted] = [new Set(found), new Set(expected)];
  const missing = expected.filter((n) => !has.has(n)).slice(0, 10);
  const strange = found.filter((n) => !wanted.has(n)).slice(0, 10);
  assert.equal({ missing, strange }, { missing: [], strange: [] }, what);
  assert.is(found.length, expected.length, `${what}: some are there twice`);
  assert.is(
    found.findIndex((n, i) => n !== expected[i]),
    -1,
    `${what}: another order`,
  );
}

const statuses = { failed: 0, confirmed: 2 } as const;

/** Returns how many logs there are. */
async function countCommands(commanding: Commanding, anyNode: () => AnyService): Promise<number> {
  const confirmed = new Set<string>();
  const logged: string[] = [];
  for (const [i, device] of commanding.devices.entries()) {
    const { fresh, acknowledged } = commanding.listeners[i] as Commanding["listeners"][number];
    const name = String(device.deviceName);
    assert.is(new Set(fresh).size, fresh.length, `${name} was sent a command anew twice`);
    const logs = await controlLogsOf(anyNode(), device);
    const payloadsWith = (status: number): string[] =>
      logs.filter(({ publishStatus }) => publishStatus === status).map(({ payload }) => String(payload));
    const own = payloadsWith(statuses.confirmed);
    assert.is(own.length + payloadsWith(statuses.failed).length, logs.length, `${name}: a log is open`);
    assert.equal(own.toSorted(), [...acknowledged].sort(), `${name}: confirmed is what it has confirmed`);
    for (const payload of own) confirmed.add(payload);
    logged.push(...logs.map(({ payload }) => String(payload)));
  }
  const unconfirmed = [...commanding.successful].filter((payload) => !confirmed.has(payload));
  assert.equal(unconfirmed, [], "an answer said of them that they were confirmed");
  const timesOf = (payload: string): number => logged.filter((one) => one === payload).length;
  for (const payload of commanding.scheduled) assert.is(timesOf(payload), 1, `schedule ${payload}`);
  for (const payload of commanding.toGroup) {
    assert.is(timesOf(payload), commanding.devices.length, `command ${payload} to the group`);
  }
  return logged.length;
}
