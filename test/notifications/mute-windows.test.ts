import fc from "fast-check";
import { DateTime } from "luxon";
import { zone } from "../../query/zone.js";
import { mutedUntil } from "../../src/notifications/mute-windows.js";
import { assert, suite } from "../suite.js";

const everyDay = [1, 2, 3, 4, 5, 6, 7];
const at = (text: string, name: string): number => DateTime.fromISO(text, { zone: name }).toMillis();
const shown = (until: number | null, name: string): string | null =>
  until === null ? null : DateTime.fromMillis(until, { zone: name }).toFormat("yyyy-MM-dd HH:mm");

suite("mute windows", (test) => {
  const name = "Asia/Shanghai";
  const until = (windows: Parameters<typeof mutedUntil>[0], text: string, of = name) =>
    shown(mutedUntil(windows, zone(of), at(text, of)), of);

  test("a window is open from its beginning up to its end", () => {
    const windows = [{ days: [3], from: "12:00", to: "13:00" }];
    assert.is(until(windows, "2026-11-25T11:59:59"), null);
    assert.is(until(windows, "2026-11-25T12:00:00"), "2026-11-25 13:00");
    assert.is(until(windows, "2026-11-25T12:59:59"), "2026-11-25 13:00");
    assert.is(until(windows, "2026-11-25T13:00:00"), null);
    assert.is(until(windows, "2026-11-26T12:30:00"), null);
  });

  test("one that ends before it begins goes on to the next day, and belongs to the day of its beginning", () => {
    const windows = [{ days: [5], from: "22:00", to: "06:00" }];
    assert.is(until(windows, "2026-11-27T23:00:00"), "2026-11-28 06:00");
    assert.is(until(windows, "2026-11-28T05:59:00"), "2026-11-28 06:00");
    assert.is(until(windows, "2026-11-27T05:00:00"), null);
    assert.is(until([{ days: [7], from: "00:00", to: "00:00" }], "2026-11-29T23:59:00"), "2026-11-30 00:00");
  });

  test("windows that follow on each other are one silence; one of the whole week has no end in sight", () => {
    const windows = [
      { days: everyDay, from: "20:00", to: "23:00" },
      { days: everyDay, from: "23:00", to: "02:00" },
    ];
    assert.is(until(windows, "2026-11-25T20:30:00"), "2026-11-26 02:00");
    const whole = mutedUntil([{ days: everyDay, from: "00:00", to: "00:00" }], zone(name), 0);
    assert.ok((whole ?? 0) >= 8 * 86_400_000);
  });

  test("at the change of the clock the wall counts", () => {
    const berlin = "Europe/Berlin";
    const windows = [{ days: everyDay, from: "01:30", to: "03:30" }];
    // 2026-03-29 has no 02:00 to 03:00: the window is an hour shorter.
    const open = at("2026-03-29T01:45:00", berlin);
    assert.is((mutedUntil(windows, zone(berlin), open) ?? 0) - open, 45 * 60_000);
    assert.is(
      until([{ days: everyDay, from: "02:00", to: "04:00" }], "2026-10-25T03:59:00", berlin),
      "2026-10-25 04:00",
    );
  });

  test("says the same as luxon, minute by minute", () => {
    const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }));
    const pad = (n: number) => String(n).padStart(2, "0");
    const window = fc.record({
      days: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
      from: clock.map(([h, m]) => `${pad(h)}:${pad(m)}`),
      to: clock.map(([h, m]) => `${pad(h)}:${pad(m)}`),
    });
    const moment = fc.integer({ min: at("2025-01-01", "UTC"), max: at("2027-12-31", "UTC") });
    const zones = fc.constantFrom("UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe");
    fc.assert(
      fc.property(fc.array(window, { maxLength: 4 }), moment, zones, (windows, now, of) => {
        const isOpen = (time: number): boolean => {
          const local = DateTime.fromMillis(time, { zone: of });
          return windows.some(({ days, from, to }) =>
            [local, local.minus({ days: 1 })].some((day) => {
              if (!days.includes(day.weekday)) return false;
              const [begin, end] = [from, to].map((text) => {
                const [hour = 0, minute = 0] = text.split(":").map(Number);
                return { year: day.year, month: day.month, day: day.day, hour, minute };
              });
              const closing = { ...end, day: end?.day ?? 0 };
              const opens = DateTime.fromObject(begin ?? {}, { zone: of }).toMillis();
              const closes = DateTime.fromObject(closing, { zone: of })
                .plus({ days: to <= from ? 1 : 0 })
                .toMillis();
              return opens <= time && time < closes;
            }),
          );
        };
        const until = mutedUntil(windows, zone(of), now);
        assert.is(until !== null, isOpen(now));
        if (until !== null && until < now + 8 * 86_400_000) assert.not.ok(isOpen(until));
      }),
      { numRuns: 500 },
    );
  });
});
