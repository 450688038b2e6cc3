import fc from "fast-check";
import { decide } from "../../src/notifications/group-outcome.js";
import type { AlertFacts } from "../../store/metadata/notifications/alert-outbox.js";
import type { AlertRoute } from "../../store/metadata/notifications/alert-routes.js";
import type { GroupMember } from "../../store/metadata/notifications/notification-groups.js";
import { assert, suite } from "../suite.js";

const now = 1_000_000_000;
const route = {
  id: 1,
  name: "r",
  groupInterval: 300,
  repeatInterval: 3600,
  sendResolved: 1,
  timezone: null,
} as AlertRoute;
const facts = (id: number) => ({ id, alertName: "a", deviceName: `d${id}` }) as AlertFacts;
const member = (id: number, fields: Partial<GroupMember> = {}): GroupMember => ({
  id,
  alert: facts(id),
  endTime: null,
  told: false,
  held: false,
  ...fields,
});
const group = {
  id: 9,
  tenant: 1,
  routeIntID: 1,
  groupKey: "[]",
  part: 1,
  members: 0,
  unlisted: 0,
  sentAt: null,
  version: 0,
};

interface Given {
  readonly members: readonly GroupMember[];
  readonly silenced?: readonly number[];
  readonly mutedUntil?: number | null;
  readonly sentAt?: number | null;
  readonly unlisted?: number;
  readonly route?: Partial<AlertRoute>;
}

function look({
  members,
  silenced = [],
  mutedUntil = null,
  sentAt = null,
  unlisted = 0,
  route: more,
}: Given) {
  return decide(
    {
      group: { ...group, sentAt, unlisted },
      route: { ...route, ...more },
      members,
      silenced: new Set(members.filter(({ id }) => silenced.includes(id))),
      mutedUntil,
      timezone: "UTC",
    },
    now,
  );
}

suite("messages of a group of alerts", (test) => {
  test("a beginning is sent once, and again after the repeat interval", () => {
    const first = look({ members: [member(1), member(2)] });
    assert.equal([first.message?.kind, first.message?.began, first.message?.firing], ["alert", 2, 2]);
    assert.equal(first.outcome, {
      began: [1, 2],
      held: [],
      finished: [],
      sentAt: now,
      isOver: false,
      nextAt: now + 3_600_000,
    });
    const told = [member(1, { told: true }), member(2, { told: true })];
    assert.is(look({ members: told, sentAt: now - 3_599_000 }).message, null);
    const again = look({ members: told, sentAt: now - 3_600_000 });
    assert.equal([again.message?.kind, again.message?.alerts.length], ["repeat", 2]);
    assert.is(look({ members: told, sentAt: 0, route: { repeatInterval: 0 } }).message, null);
  });

  test("an end is sent with the alerts that go on, and its member leaves", () => {
    const members = [member(1, { told: true, endTime: now - 5 }), member(2, { told: true })];
    const { message, outcome } = look({ members, sentAt: now - 400_000 });
    assert.equal([message?.began, message?.ended, message?.firing], [0, 1, 1]);
    assert.equal(
      message?.alerts.map(({ id, status, isNew }) => [id, status, isNew]),
      [[1, "resolved", false]],
    );
    assert.equal(outcome.finished, [1]);
  });

  test("an alert that came and went while its group waited is sent as both", () => {
    const { message, outcome } = look({ members: [member(1, { endTime: now })] });
    assert.equal([message?.began, message?.ended, message?.firing], [1, 1, 0]);
    assert.equal([outcome.began, outcome.finished], [[], [1]]);
  });

  test("without sendResolved an end is not sent, and its member leaves silently", () => {
    const members = [member(1, { told: true, endTime: now })];
    const { message, outcome } = look({ members, sentAt: now - 10_000, route: { sendResolved: 0 } });
    assert.is(message, null);
    assert.equal(outcome.finished, [1]);
  });

  test("a silenced alert waits until the silence ends; one that ends in silence is never sent", () => {
    const members = [member(1), member(2, { endTime: now }), member(3)];
    const { message, outcome } = look({ members, silenced: [1, 2] });
    assert.equal(
      message?.alerts.map(({ id }) => id),
      [3],
    );
    assert.equal(outcome, {
      began: [3],
      held: [1],
      finished: [2],
      sentAt: now,
      isOver: false,
      nextAt: now + 60_000,
    });
    assert.is(look({ members: [member(1)], silenced: [1] }).outcome.nextAt, now + 60_000);
    // The silence is over, and one of the alerts that it deferred has ended.
    const after = look({ members: [member(1, { held: true, endTime: now }), member(2, { held: true })] });
    assert.equal(
      after.message?.alerts.map(({ id }) => id),
      [2],
    );
    assert.equal([after.outcome.began, after.outcome.finished], [[2], [1]]);
  });

  test("a muted route waits for the end of its window, a minute at the most", () => {
    const far = look({ members: [member(1)], mutedUntil: now + 500_000 });
    assert.equal([far.message, far.outcome.nextAt], [null, now + 60_000]);
    assert.is(look({ members: [member(1)], mutedUntil: now + 5000 }).outcome.nextAt, now + 5000);
  });

  test("an empty group is kept for its interval and then dropped", () => {
    const kept = look({ members: [member(1, { told: true, endTime: now })], sentAt: now - 400_000 });
    assert.equal([kept.outcome.isOver, kept.outcome.nextAt], [false, now + 300_000]);
    const over = look({ members: [], sentAt: now - 300_000 });
    assert.equal([over.outcome.isOver, over.outcome.nextAt], [true, null]);
  });

  test("alerts beyond what may be listed are counted", () => {
    const members = Array.from({ length: 25 }, (_, i) => member(i + 1));
    const { message } = look({ members, unlisted: 3 });
    assert.equal([message?.alerts.length, message?.more, message?.began], [20, 8, 28]);
  });

  test("whatever happens, nothing is sent twice, nothing audible is forgotten, and something is always due while anything is owed", () => {
    const state = fc.constantFrom("new", "told", "held");
    const members = fc.array(fc.record({ state, ended: fc.boolean(), silenced: fc.boolean() }), {
      maxLength: 6,
    });
    const given = fc.record({
      members,
      muted: fc.boolean(),
      sentAgo: fc.option(fc.integer({ min: 0, max: 8000 })),
      sendResolved: fc.constantFrom(0, 1),
      repeatInterval: fc.constantFrom(0, 3600),
    });
    fc.assert(
      fc.property(given, ({ members: drawn, muted, sentAgo, ...more }) => {
        const all = drawn.map((one, i) =>
          member(i + 1, {
            told: one.state === "told" && sentAgo !== null,
            held: one.state === "held",
            endTime: one.ended ? now - 1 : null,
          }),
        );
        const silenced = drawn.flatMap((one, i) => (one.silenced ? [i + 1] : []));
        const sentAt = sentAgo === null ? null : now - sentAgo * 1000;
        const { message, outcome } = look({
          members: all,
          silenced,
          mutedUntil: muted ? now + 1000 : null,
          sentAt,
          route: more,
        });
        const gone = new Set(outcome.finished);
        const listed = new Set(message?.alerts.map(({ id }) => id));
        for (const { id, told, held, endTime } of all) {
          const isAudible = !silenced.includes(id) && !(held && endTime !== null);
          const owed = isAudible && (!told || (endTime !== null && more.sendResolved === 1));
          if (message === null) assert.not.ok(owed && gone.has(id), "forgotten");
          else assert.is(listed.has(id) || message.kind === "repeat", owed || message.kind === "repeat");
          if (listed.has(id)) assert.ok(isAudible, "sent in silence");
          const left = !gone.has(id);
          const stillOwes = left && endTime === null && !told && !outcome.began.includes(id);
          if (stillOwes) assert.ok(outcome.nextAt !== null, "never looked at again");
          if (left && message !== null) assert.is(endTime, null);
        }
        if (muted) assert.is(message, null);
        if (outcome.nextAt !== null) assert.ok(outcome.nextAt > now);
        if (outcome.isOver) assert.is(gone.size, all.length);
      }),
      { numRuns: 2000 },
    );
  });
});
