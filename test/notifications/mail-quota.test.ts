/** Tests and alerts by mail have a bound for each tenant and hour: nobody mails strangers as the deployment. */
import { createMailQuota } from "../../src/notifications/mail-quota.js";
import { SqlError } from "../../store/metadata/db/connection/connection.js";
import { openDb } from "../../store/metadata/db/db.js";
import { toStoreError } from "../../store/metadata/db/sql-errors.js";
import { acquireMail } from "../../store/metadata/notifications/mail-quota.js";
import { assert, rejects, suite } from "../suite.js";
import { worldSuite } from "../world.js";
import { openMailServer } from "./receivers.js";
import { contactPoint, ok } from "./senders.js";
import { withStore } from "./store.js";
import { contactBody, testContact } from "./support.js";

const minute = 60_000;

suite("mail quotas", (test) => {
  test("an hour has as many recipients as the limits say, whenever it begins, also after a restart", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const limits = { recipientsMax: 100, testsMax: 10 };
      const sent: { readonly at: number; readonly recipients: number; readonly tests: number }[] = [];
      let seed = 7;
      const draw = (max: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
        return 1 + (seed % max);
      };
      let db = store.db;
      let refusals = 0;
      for (let i = 0; i < 400; i++) {
        if (i === 200) db = await openDb({ url: store.url, shared: false });
        store.clock.pass(draw(90_000));
        const at = store.clock.now();
        const recipients = draw(6);
        const tests = draw(3) === 1 ? recipients : 0;
        const made = await acquireMail(db, at, { tenant, recipients, tests }, limits);
        if (typeof made !== "number") {
          sent.push({ at, recipients, tests });
          continue;
        }
        refusals++;
        assert.ok(made > at && made <= at + 61 * minute, `${made - at}`);
        // Not a millisecond sooner, and then indeed.
        store.clock.pass(made - 1 - at);
        assert.is(await acquireMail(db, store.clock.now(), { tenant, recipients, tests }, limits), made);
        store.clock.pass(1);
        assert.type(await acquireMail(db, made, { tenant, recipients, tests }, limits), "object");
        sent.push({ at: made, recipients, tests });
      }
      assert.ok(refusals > 50 && sent.length > 50, `${refusals} ${sent.length}`);
      for (const { at: from } of sent) {
        const hour = sent.filter(({ at }) => at >= from && at < from + 60 * minute);
        assert.ok(hour.reduce((sum, one) => sum + one.recipients, 0) <= 100);
        assert.ok(hour.reduce((sum, one) => sum + one.tests, 0) <= 10);
      }
      const { n } = (await db.first<{ n: number }>("select count(*) n from mail_minute")) ?? { n: -1 };
      assert.ok(n > 0 && n <= 61, `${n}`);
      if (db !== store.db) await db.close();
    }));

  test("where the metadata cannot count, a full disk alone lets an alert go out; else it is tried again", () =>
    withStore(async (store) => {
      const mail = contactPoint({
        tenant: await store.makeTenant(),
        type: "email",
        settings: { to: ["a@example.com"] },
      });
      for (const [thrown, sends] of [
        [toStoreError(new SqlError("database or disk is full", "SQLITE_FULL")), 1],
        [toStoreError(new SqlError("database is locked", "SQLITE_BUSY")), 0],
        [toStoreError(new TypeError("fetch failed")), 0],
        [new Error("no such table: mail_minute"), 0],
      ] as const) {
        const db = { ...store.db, write: () => Promise.reject(thrown) };
        const quota = createMailQuota(db, { recipientsMax: 10, testsMax: 10 }, store.clock.now);
        let sent = 0;
        const send = async () => {
          sent++;
          return ok;
        };
        const outcome = await quota.send(mail, false, send);
        assert.is(sent, sends, String(thrown));
        assert.equal([outcome.isDelivered, outcome.isTransient], [sends === 1, sends === 0]);
        await rejects(() => quota.send(mail, true, send));
        assert.is(sent, sends);
      }
    }));

  test("a clock that was ahead for a while delays no mail", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const limits = { recipientsMax: 1, testsMax: 0 };
      const one = { tenant, recipients: 1, tests: 0 };
      const now = store.clock.now();
      for (const at of [now + 40 * 86_400_000, now]) {
        assert.type(await acquireMail(store.db, at, one, limits), "object");
        assert.type(await acquireMail(store.db, at, one, limits), "number");
      }
    }));

  test("0 is no limit, and what is no mail has none", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const to = Array.from({ length: 50 }, (_, i) => `${i}@example.com`);
      const mail = contactPoint({ tenant, type: "email", settings: { to } });
      const free = createMailQuota(store.db, { recipientsMax: 0, testsMax: 0 }, store.clock.now);
      const counts: number[] = [];
      for (const isTest of [true, false, true]) {
        await free.send(mail, isTest, async ({ settings }) => {
          counts.push((settings.to as string[]).length);
          return ok;
        });
      }
      assert.equal(counts, [50, 50, 50]);
      const tight = createMailQuota(store.db, { recipientsMax: 1, testsMax: 1 }, store.clock.now);
      for (let i = 0; i < 5; i++)
        assert.is(await tight.send(contactPoint({ tenant }), true, async () => ok), ok);
    }));
});

worldSuite(
  "tests by mail",
  (test, world) => {
    test("have a bound within an hour, which a refusal names; they go out in the built-in texts", async () => {
      const mail = await openMailServer({ disabledCommands: ["STARTTLS", "AUTH"] });
      const server = { host: "127.0.0.1", port: mail.port, security: "none" };
      const to = Array.from({ length: 50 }, (_, i) => `stranger${i}@example.com`);
      const fields = { subjectTemplate: "You have won", bodyTemplate: "Click here" };
      const path = "/api/v1/contact_points";
      const many = await world.make(path, contactBody("email", { to, server }, fields));
      const first = await testContact(world, many);
      assert.equal([first.status, first.record.delivered], [200, true]);
      assert.equal(
        mail.mails.map((one) => one.to),
        [to.slice(0, 20)],
      );
      const text = mail.mails[0]?.text ?? "";
      assert.match(text, "A test: if you read this, the contact point works.");
      assert.not.match(text, /won|Click/);
      assert.match(text, /^Message-ID: <tidemark-[0-9a-f]{16}-test-[0-9a-f]{16}@\[127\.0\.0\.1\]>\r$/m);
      const few = await world.make(path, contactBody("email", { to: to.slice(0, 1), server }));
      const second = await testContact(world, few);
      assert.is(second.status, 429);
      assert.match(second.failure.message, "TENANT_TEST_RECIPIENTS_PER_HOUR");
      const seconds = Number(second.headers.get("Retry-After"));
      assert.ok(seconds > 3600 && seconds <= 3660, `${seconds}`);
      assert.is(mail.mails.length, 1);
      const { items } = (await world.call("GET", `/api/v1/notifications?contactPointIntID=${few.id}`)).page;
      assert.equal(items, []);
      const hook = await world.make(path, contactBody("webhook", { url: "http://127.0.0.1:1/" }));
      assert.is((await testContact(world, hook)).status, 200);
      world.clock.pass(seconds * 1000);
      assert.is((await testContact(world, few)).status, 200);
      await mail.close();
    });
  },
  { NOTIFY_PRIVATE_ADDRESSES: "127.0.0.1" },
);
