import { int, is, json, orNull, record, some, text } from "../form.js";
import { type Line, lines } from "../line.js";

/** What a console asks beyond the interface: the whole fleet as a table. */

function line(says: string, call: string, more: Partial<Line>): Line {
  return { says, in: "AB", call, status: 200, answer: json, ...more };
}

export const consoleLines = lines("Beyond the interface", [
  line("the fleet", "GET /fleet?q=bench-1&_sort=-lastSeen&_limit=2&facets=1", {
    answer: record({
      items: some(json),
      next: orNull(text),
      count: json,
      isCountBounded: is(false),
      facets: json,
    }),
  }),
  line("one thing for many devices", "POST /devices/bulk", {
    body: { ids: ["{device.id}", "{gateway.id}"], action: "command", payload: "on", ttl: 60 },
    status: 202,
    answer: record({ statusUrl: text }),
  }),
  line("whatever is called so", "GET /search?q=bench", {
    answer: some(record({ type: text, id: int, name: text, detail: orNull(text) })),
  }),
]);
