/** The mail server that the deployment offers to all tenants. */
import { createAddressGuard } from "../../src/contact-points/addresses.js";
import { createEmailSend } from "../../src/contact-points/email.js";
import { assert, suite } from "../suite.js";
import { refused, worldSuite } from "../world.js";
import { openMailServer } from "./receivers.js";
import { contactPoint } from "./senders.js";
import { contactBody } from "./support.js";

const from = "alerts@example.com";

suite("mail through the deployment's server", (test) => {
  test("comes from the deployment, whatever a contact point of before says", async () => {
    const mail = await openMailServer({ disabledCommands: ["STARTTLS", "AUTH"] });
    const own = {
      host: "127.0.0.1",
      port: mail.port,
      security: "none",
      username: null,
      password: null,
      from,
    } as const;
    const send = createEmailSend(createAddressGuard([]), own);
    const settings = { to: ["a@b.c"], from: "Boss <boss@bank.example>", server: null };
    const outgoing = { subject: "s", body: "b", id: "1" };
    const outcome = await send(contactPoint({ settings }), outgoing, new AbortController().signal);
    assert.is(outcome.isDelivered, true, outcome.answer);
    assert.is(mail.mails[0]?.from, from);
    assert.not.match(mail.mails[0]?.text ?? "", "bank.example");
    await mail.close();
  });
});

worldSuite(
  "senders of contact points",
  (test, world) => {
    const path = "/api/v1/contact_points";
    const to = ["a@example.com"];
    const server = { host: "mail.example.com", port: 465, security: "tls" };

    test("are the deployment's without a server of their own, and free with one", async () => {
      const call = (settings: object) => world.call("POST", path, contactBody("email", settings));
      refused(await call({ to, from: "boss@bank.example" }), "PARAMETER_INVALID", "settings.from");
      for (const settings of [{ to }, { to, from }, { to, from: "me@example.org", server }]) {
        assert.is((await call(settings)).status, 201);
      }
    });

    test("stay so through edits", async () => {
      const { id } = await world.make(path, contactBody("email", { to, from: "me@example.org", server }));
      const edit = (settings: object) => world.call("PUT", `${path}/${id}`, { settings });
      refused(await edit({ to, from: "me@example.org" }), "PARAMETER_INVALID", "settings.from");
      assert.is((await edit({ to })).status, 200);
    });
  },
  { SMTP_URL: "smtp://127.0.0.1:1?security=none", SMTP_FROM: from },
);
