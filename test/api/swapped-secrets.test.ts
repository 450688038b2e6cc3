/** Somebody who may write the database, and has no master key, gives a device the token of another. */
import { connectAsync } from "mqtt";
import { openDb } from "../../store/metadata/db/db.js";
import { openService, provision } from "../flow/support.js";
import { assert, rejects, suite, until, withTempDir } from "../suite.js";

suite("secrets of another record", (test) => {
  test("let nobody in, are named in the log and counted, and end no start", () =>
    withTempDir(async (dir) => {
      let service = await openService(dir);
      const [a, b, c] = await provision(service, 3);
      assert.ok(a && b && c);
      await service.stop();
      const db = await openDb({ url: `file:${dir}/metadata.db`, shared: false });
      await db.write([
        {
          sql: "update device set token = (select token from device where id = ?) where id = ?",
          args: [a.id, b.id],
        },
      ]);
      await db.close();

      service = await openService(dir);
      const connect = (username: unknown, password: unknown) =>
        connectAsync(
          service.mqtt,
          { username: String(username), password: String(password), reconnectPeriod: 0 },
          false,
        );
      for (const token of [a.token, b.token]) await rejects(() => connect(b.deviceUsername, token));
      for (const device of [a, c]) await (await connect(device.deviceUsername, device.token)).endAsync();
      const lines = () => service.logged.filter(({ msg }) => String(msg).startsWith("damage:"));
      await until(() => lines().length > 0, { what: "the line in the log" });
      assert.equal(
        lines().map(({ msg, part }) => [msg, part]),
        [
          [
            `damage: the sealed value ["device.token",1,"${b.deviceID}"] does not open: it is another record's, or damaged`,
            "metadata",
          ],
        ],
      );
      assert.is(await service.metric("tidemark_damage_total", 'part="metadata"'), 1);
      assert.match((await service.call("GET", "/readyz")).text, /"status":"degraded"/);
      assert.is((await service.call("GET", `/api/v1/devices/${a.id}`)).status, 200);
      assert.is((await service.call("GET", `/api/v1/devices/${b.id}`)).status, 500);
      await service.stop();
    }));
});
