/** Bodies are counted as they come: by tenant, and within it by device. */
import { EventEmitter } from "node:events";
import { gzipSync } from "node:zlib";
import type { UplinkAnswer } from "../../../../ingest/transports/http/requests/answers.js";
import { readBody, uplinkBatchBytesMax } from "../../../../ingest/transports/http/requests/body.js";
import {
  createBodyBudget,
  createBodyBudgets,
} from "../../../../ingest/transports/http/requests/body-budget.js";
import { createReservation } from "../../../../store/lib/reservation.js";
import { nextTurn } from "../../../../store/lib/scheduling.js";
import { assert, suite } from "../../../suite.js";

const MiB = 1024 * 1024;

class Request extends EventEmitter {
  readonly destroyed = false;
  constructor(readonly headers: Readonly<Record<string, string>>) {
    super();
  }
}

suite("budgets of bodies", (test) => {
  test("a device leaves some to its tenant, and a tenant to the others", () => {
    const budget = createBodyBudget(64 * MiB);
    const first = budget.open(1, 1);
    let taken = 0;
    while (first.resize((taken + 1) * MiB)) taken++;
    assert.is(taken, 49, "7/8 of 7/8");
    assert.ok(budget.open(1, 2).resize(MiB));
    for (let device = 3; budget.open(1, device).resize(1000); device++);
    assert.ok(budget.open(2, 1).resize(MiB));
    first.release();
    assert.ok(budget.open(1, 3).resize(MiB));
    assert.not(first.resize(1), "a request that is over takes nothing");
  });

  test("what is only declared holds nothing, and single messages do not wait for batches", async () => {
    const budgets = createBodyBudgets();
    const read = (
      headers: Readonly<Record<string, string>>,
      device: number,
      bytesMax = uplinkBatchBytesMax,
    ) => {
      const request = new Request(headers);
      return { request, body: readBody(request, bytesMax, { tenant: 1, device, budgets }) };
    };
    const declared = { "content-length": String(uplinkBatchBytesMax) };
    const waiting = Array.from({ length: 50 }, () => read(declared, 1));
    const batch = read(declared, 2);
    batch.request.emit("data", Buffer.alloc(MiB));
    // Now the first device brings all that it may.
    const statuses: number[] = [];
    for (const { request, body } of waiting) {
      void body.then((answer) => statuses.push((answer as UplinkAnswer).status));
      request.emit("data", Buffer.alloc(4 * MiB));
    }
    await nextTurn();
    assert.ok(statuses.length > 0 && statuses.length < waiting.length, "some fit, and wait for more");
    for (const status of statuses) assert.is(status, 503);
    batch.request.emit("data", Buffer.alloc(MiB));
    batch.request.emit("end");
    const whole = await batch.body;
    assert.ok(whole !== undefined && "bytes" in whole && whole.bytes.length === 2 * MiB);
    const small = read({}, 1, 256 * 1024);
    small.request.emit("data", Buffer.from("{}"));
    small.request.emit("end");
    const message = await small.body;
    assert.ok(message !== undefined && "bytes" in message, "a message of the same device has capacity");
  });

  test("what is unpacked holds as much as it became, and its request what each does", async () => {
    let held = 0;
    const budget = {
      open: () =>
        createReservation(
          (bytes) => {
            held += bytes;
            return true;
          },
          (bytes) => {
            held -= bytes;
          },
        ),
    };
    const request = new Request({ "content-encoding": "gzip" });
    const reading = readBody(request, uplinkBatchBytesMax, { tenant: 1, device: 1, budgets: () => budget });
    request.emit("data", gzipSync("x".repeat(5000)));
    request.emit("end");
    const body = await reading;
    assert.ok(body !== undefined && "bytes" in body && body.bytes.length === 5000);
    assert.is(held, 2048 + 5000);
    if (body !== undefined && "release" in body) body.release?.();
    assert.is(held, 0);
  });
});
