/** Messages go out, and what comes of them is stored: on a disk that is full, to contact points that are gone. */
import { failed, refuseMessage, type SendOutcome } from "../../src/contact-points/sending.js";
import { createMessageDeliveries } from "../../src/notifications/deliver.js";
import { createMailQuota } from "../../src/notifications/mail-quota.js";
import { createTemplateRenderer } from "../../src/notifications/templates.js";
import { createVault, type Vault } from "../../store/metadata/db/secrets.js";
import type { MailLimits } from "../../store/metadata/notifications/mail-quota.js";
import { assert, suite } from "../suite.js";
import { delivering, ok } from "./senders.js";
import { filling, type NotificationStore, withStore } from "./store.js";

/** Deliveries whose `look` also waits for what it has begun. */
function deliveriesOf(
  store: NotificationStore,
  fields: { answer?: () => SendOutcome; vault?: Vault; limits?: MailLimits } = {},
) {
  const sent = delivering(fields.answer);
  const { disk, db } = filling(store.db);
  const attempts: string[] = [];
  const deliveries = createMessageDeliveries({
    db,
    vault: fields.vault ?? store.vault,
    renderer: createTemplateRenderer(),
    senders: sent.senders,
    quota: createMailQuota(db, fields.limits ?? { recipientsMax: 0, testsMax: 0 }, store.clock.now),
    onAttempt: (_type, outcome) => attempts.push(outcome),
    log: store.log,
    ending: new AbortController().signal,
    now: store.clock.now,
    monotonic: store.clock.monotonic,
  });
  const look = async (): Promise<void> => {
    await deliveries.look();
    await deliveries.settled();
  };
  return { deliveries, look, disk, messages: sent.messages, attempts };
}

suite("deliveries", (test) => {
  test("with a full disk a message goes out once; what came of it is stored as soon as it can be", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const route = await store.makeRoute(tenant, [await store.makePoint(tenant)]);
      await store.notify(tenant, route);
      await store.notify(tenant, route);
      const { look, disk, messages, attempts, deliveries } = deliveriesOf(store);
      disk.isFull = true;
      for (let i = 0; i < 100; i++) {
        await look();
        store.clock.pass(1000);
      }
      assert.is(messages.length, 1);
      assert.equal(
        (await store.logOf(tenant)).map(({ status }) => status),
        ["waiting", "waiting"],
      );
      assert.equal(
        store.lines.map(({ msg }) => msg),
        ["cannot read or store notifications"],
      );
      disk.isFull = false;
      store.clock.pass(600_000);
      await look();
      assert.is(messages.length, 1);
      assert.equal(
        (await store.logOf(tenant)).map(({ status }) => status),
        ["delivered", "waiting"],
      );
      await look();
      assert.is(messages.length, 2);
      assert.equal(attempts, ["delivered", "delivered"]);
      assert.equal(
        (await store.logOf(tenant)).map(({ answer }) => answer),
        ["200 OK", "200 OK"],
      );
      assert.is(store.lines.at(-1)?.msg, "notifications are read and stored again");
      assert.is(store.lines.length, 2);
      await deliveries.close();
    }));

  test("what could not be stored is stored when the service ends, if the disk takes it by then", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      await store.notify(tenant, await store.makeRoute(tenant, [await store.makePoint(tenant)]));
      const { look, disk, deliveries } = deliveriesOf(store);
      disk.isFull = true;
      await look();
      disk.isFull = false;
      await deliveries.close();
      assert.equal(
        (await store.logOf(tenant)).map(({ status }) => status),
        ["delivered"],
      );
    }));

  test("a contact point whose secrets cannot be opened is tried like one that does not answer", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      await store.notify(tenant, await store.makeRoute(tenant, [await store.makePoint(tenant)]));
      const vault = createVault(Buffer.alloc(32, 1));
      const { look, attempts, deliveries } = deliveriesOf(store, { vault });
      for (let i = 0; i < 60; i++) {
        await look();
        store.clock.pass(1000);
      }
      // At 0, 5, 15 and 35 seconds.
      assert.equal(attempts, Array(4).fill("retried"));
      assert.equal(
        store.lines.map(({ msg }) => msg),
        ["contact point takes no message"],
      );
      const [entry] = await store.logOf(tenant);
      assert.equal([entry?.status, entry?.attempts], ["waiting", 4]);
      assert.match(String(entry?.answer), "MASTER_KEY");
      await deliveries.close();
    }));

  test("a message is given up after 24 hours", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      await store.notify(tenant, await store.makeRoute(tenant, [await store.makePoint(tenant)]));
      const { look, attempts, deliveries } = deliveriesOf(store, { answer: () => failed("503") });
      const begun = store.clock.now();
      while ((await store.logOf(tenant))[0]?.status === "waiting") {
        await look();
        store.clock.pass(60_000);
      }
      const hours = (store.clock.now() - begun) / 3_600_000;
      assert.ok(hours > 23.7 && hours < 24.1, `${hours}`);
      const [entry] = await store.logOf(tenant);
      assert.equal([entry?.status, entry?.nextAt, entry?.answer], ["failed", null, "503"]);
      assert.is(attempts.at(-1), "failed");
      assert.is(attempts.filter((one) => one === "failed").length, 1);
      // Each ten minutes, more often at first.
      assert.ok(attempts.length > 130 && attempts.length < 160, `${attempts.length}`);
      await deliveries.close();
    }));

  test("a message has the id of its first attempt at each, and no other message has it, of any deployment or after a restore", async () => {
    const ids: string[] = [];
    for (let deployment = 0; deployment < 2; deployment++) {
      await withStore(async (store) => {
        const tenant = await store.makeTenant();
        const route = await store.makeRoute(tenant, [await store.makePoint(tenant)]);
        let answer: SendOutcome = failed("503");
        const { look, messages, deliveries } = deliveriesOf(store, { answer: () => answer });
        for (let restored = 0; restored < 2; restored++) {
          await store.notify(tenant, route);
          answer = failed("503");
          await look();
          store.clock.pass(600_000);
          answer = ok;
          await look();
          const [first, again] = messages.splice(0);
          assert.is(first?.id, again?.id);
          ids.push(first?.id ?? "");
          // As a backup has it that was made before: the next message is the first again.
          await store.db.write([
            { sql: "delete from notification" },
            { sql: "delete from sqlite_sequence where name = 'notification'" },
          ]);
        }
        await deliveries.close();
      });
    }
    const parts = ids.map((id) => /^tidemark-([0-9a-f]{16})-1-([0-9a-f]{16})$/.exec(id) ?? []);
    const [one, restored, other] = parts.map(([, deployment]) => deployment);
    assert.is(one, restored);
    assert.is.not(one, other);
    assert.is(new Set(parts.map(([, , key]) => key)).size, 4, ids.join(" "));
  });

  test("mail beyond its tenant's recipients within an hour waits with the reason, and goes out after it", () =>
    withStore(async (store) => {
      const [tenant, other] = [await store.makeTenant(), await store.makeTenant()];
      const limits = { recipientsMax: 5, testsMax: 0 };
      const mailTo = (count: number) => ({
        type: "email" as const,
        settings: { to: Array.from({ length: count }, (_, i) => `${i}@example.com`) },
      });
      const { look, attempts, messages, deliveries } = deliveriesOf(store, { limits });
      const route = await store.makeRoute(tenant, [await store.makePoint(tenant, mailTo(3))]);
      await store.notify(tenant, route);
      await look();
      await store.notify(tenant, route);
      await store.notify(other, await store.makeRoute(other, [await store.makePoint(other, mailTo(5))]));
      const tooMany = await store.makeRoute(tenant, [await store.makePoint(tenant, mailTo(6))]);
      await store.notify(tenant, tooMany);
      await store.notify(tenant, await store.makeRoute(tenant, [await store.makePoint(tenant)]));
      await look();
      // The second of the first three addresses waits; another tenant, and a webhook, do not.
      assert.equal(attempts.splice(0).sort(), ["delivered", "delivered", "delivered", "failed", "limited"]);
      const [, waiting, failing] = await store.logOf(tenant);
      assert.equal([waiting?.status, waiting?.attempts], ["waiting", 1]);
      assert.match(
        String(waiting?.answer),
        "as many recipients of mail as TENANT_MAIL_RECIPIENTS_PER_HOUR allows",
      );
      assert.equal(
        [failing?.status, failing?.answer],
        ["failed", "more addresses than TENANT_MAIL_RECIPIENTS_PER_HOUR allows, which is 5"],
      );
      const nextAt = waiting?.nextAt ?? 0;
      assert.ok(
        nextAt > store.clock.now() + 3_600_000 && nextAt <= store.clock.now() + 3_660_000,
        `${nextAt}`,
      );
      while (store.clock.now() < nextAt) {
        await look();
        store.clock.pass(60_000);
      }
      assert.equal(attempts, []);
      await look();
      assert.equal(attempts, ["delivered"]);
      assert.is(messages.length, 4);
      await deliveries.close();
    }));

  test("an attempt that did not get through takes nothing of the quota; on a full disk mail goes out beside it", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const mail = { type: "email", settings: { to: ["a@b.c"] } } as const;
      await store.notify(tenant, await store.makeRoute(tenant, [await store.makePoint(tenant, mail)]));
      let answer: SendOutcome = failed("no connection");
      const limits = { recipientsMax: 1, testsMax: 1 };
      const { look, attempts, disk, messages, deliveries } = deliveriesOf(store, {
        answer: () => answer,
        limits,
      });
      for (let i = 0; i < 3; i++) {
        await look();
        store.clock.pass(600_000);
      }
      answer = ok;
      await look();
      assert.equal(attempts, ["retried", "retried", "retried", "delivered"]);
      await store.notify(tenant, await store.makeRoute(tenant, [await store.makePoint(tenant, mail)]));
      disk.isFull = true;
      await look();
      assert.is(messages.length, 5);
      disk.isFull = false;
      await deliveries.close();
    }));

  test("a contact point counts as failing until it takes a message, is switched off or deleted", () =>
    withStore(async (store) => {
      const tenant = await store.makeTenant();
      const points = [1, 2, 3, 4].map(() => store.makePoint(tenant));
      const [one, two, three, four] = (await Promise.all(points)) as [number, number, number, number];
      const route = await store.makeRoute(tenant, [one, two, three, four]);
      await store.notify(tenant, route);
      let answer: SendOutcome = refuseMessage("410 Gone");
      const { look, deliveries } = deliveriesOf(store, { answer: () => answer });
      await look();
      assert.is(deliveries.failing, 4);
      await store.db.write([
        { sql: "delete from route_contact where contactPointIntID in (?, ?)", args: [one, two] },
        { sql: "delete from contact_point where id = ?", args: [one] },
        { sql: "update contact_point set enable = 0 where id = ?", args: [two] },
      ]);
      await deliveries.forgetGone();
      assert.is(deliveries.failing, 2);
      answer = ok;
      await store.notify(tenant, route);
      await look();
      assert.is(deliveries.failing, 0);
      await deliveries.close();
    }));
});
