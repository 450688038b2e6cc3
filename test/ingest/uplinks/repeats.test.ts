import { createRepeats } from "../../../ingest/uplinks/repeats.js";
import type { JournalRecord } from "../../../store/journal/record.js";
import { encodeUplinkDetails } from "../../../store/journal/record-details.js";
import { recordKinds } from "../../../store/journal/record-kinds.js";
import { nextTurn } from "../../../store/lib/scheduling.js";
import { assert, suite } from "../../suite.js";

const MiB = 1024 * 1024;

function uplink(key: string, payload: Uint8Array): JournalRecord {
  const details = encodeUplinkDetails({ properties: null, isWill: false, sentAt: null, key, batch: null });
  return { kind: recordKinds.uplink, details, payload } as unknown as JournalRecord;
}

async function* noRecords(): AsyncGenerator<JournalRecord> {}

suite("ids read back", (test) => {
  const repeatsOf = (history: (device: number) => AsyncGenerator<JournalRecord>) =>
    createRepeats({
      history: { history, batches: noRecords, kept: history },
      readable: async () => undefined,
      earlierEndedAt: 0,
      now: () => 1000,
    });

  test("no more is read for a device than 64 MiB, the newest first", async () => {
    const payload = new Uint8Array(MiB);
    let read = 0;
    const repeats = repeatsOf(async function* () {
      for (; ; read++) yield uplink(`k${read}`, payload);
    });
    const keys = await repeats.keys({ device: 1, tenant: 1 }, () => true);
    assert.is(read, 63);
    assert.is(keys.get("k0"), 0);
    assert.is(keys.get("k62"), 0);
    assert.is(keys.get("k63"), undefined);
    read = 0;
    await repeats.batches({ device: 1, tenant: 1 }, () => true);
    assert.is(read, 2 * 63, "of each run");
  });

  test("a few devices at once, tenants in turn", async () => {
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const repeats = repeatsOf(async function* (device) {
      begun.push(device);
      await new Promise<void>((resolve) => ends.push(resolve));
      yield uplink("k", new Uint8Array(0));
    });
    const all = Array.from({ length: 20 }, (_, n) =>
      repeats.keys({ device: 100 + n, tenant: 1 }, () => true),
    );
    all.push(repeats.keys({ device: 200, tenant: 2 }, () => true));
    await nextTurn();
    assert.ok(begun.length <= 4 && begun.includes(200), `begun: ${begun}`);
    while (begun.length < all.length || ends.length > 0) {
      ends.shift()?.();
      await nextTurn();
    }
    await Promise.all(all);
    assert.is(begun.length, 21);
  });
});
