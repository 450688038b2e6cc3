/** What callers break off, damage, or may not see: an answer of its own each, and no line in the log. */
import { connect } from "node:net";
import { deviceBody, makeProduct, productBody, unique } from "../factories.js";
import { bookParts, zipOf } from "../import-export/devices/workbooks.js";
import { assert, until } from "../suite.js";
import { type CallOptions, refused, type World, worldSuite } from "../world.js";
import { ended, formOf, formType, taskStatus } from "./transfer.js";

// A suite of a world fails in its end where the service has logged an error.
worldSuite("malformed requests", (test, world: World) => {
  const upload = (file: Uint8Array, options: CallOptions = {}) =>
    world.call("POST", "/api/v1/devices_import", formOf(file), {
      ...options,
      headers: { "Content-Type": formType },
    });

  test("a body that is broken off is nothing to log, by whatever route and end", async () => {
    const { hostname, port } = new URL(world.http);
    const bearer = `Authorization: Bearer ${world.first.apiKey}\r\n`;
    const requests = [
      ["/api/v1/login", "", "application/json", '{"username":'],
      ["/api/v1/products", bearer, "application/json", '{"productName":'],
      ["/api/v1/original_data", bearer, "text/csv", "deviceID,time,temp\n"],
      ["/api/v1/original_data", bearer, formType, formOf("x").toString().slice(0, 120)],
      ["/api/v1/devices_import", bearer, formType, formOf("x").toString().slice(0, 120)],
    ] as const;
    const failures: unknown[] = [];
    const { error } = console;
    console.error = (...told) => void failures.push(told);
    try {
      for (const [path, authorization, type, body] of requests) {
        for (const end of ["destroy", "resetAndDestroy", "end"] as const) {
          const socket = connect(Number(port), hostname);
          socket.on("error", () => undefined);
          socket.resume();
          socket.write(
            `POST ${path} HTTP/1.1\r\nHost: x\r\n${authorization}Content-Type: ${type}\r\nContent-Length: 100000\r\n\r\n${body}`,
          );
          await new Promise((resolve) => setTimeout(resolve, 60));
          socket[end]();
          await until(() => socket.closed, { what: "the socket to close" });
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 300));
    } finally {
      console.error = error;
    }
    assert.equal(failures, []);
    assert.is((await world.call("GET", "/healthz")).status, 200);
  });

  test("a workbook whose parts are damaged is refused as such, whichever part it is", async () => {
    const product = await makeProduct(world);
    const row = `<row><c t="inlineStr"><is><t>${product.productID}</t></is></c></row>`;
    const parts = bookParts(row.repeat(200), "", "");
    const whole = await zipOf(parts);
    for (const name of ["_rels/.rels", "book/main.xml", "book/_rels/main.xml.rels", "book/styles.xml"]) {
      const damaged = Buffer.from(whole);
      // Behind the local header's name: the packed bytes.
      const at = damaged.indexOf(name) + name.length;
      damaged.fill(0xff, at + 2, at + 12);
      const reply = await upload(damaged);
      assert.is(reply.status, 422, `${name}: ${reply.text}`);
      assert.is(reply.failure.errorCode, "FORMAT_INVALID");
    }
  });

  test("half a character in a text is refused and named, in bodies and in their depths", async () => {
    const product = await makeProduct(world);
    const half = "gh-\ud800";
    const body = (fields: object) => JSON.stringify(fields);
    refused(
      await world.call("POST", "/api/v1/devices", body(deviceBody(product, { deviceID: half }))),
      "PARAMETER_INVALID",
      "deviceID",
    );
    refused(
      await world.call("POST", "/api/v1/products", body(productBody({ productName: "\udc00" }))),
      "PARAMETER_INVALID",
      "productName",
    );
    const deep = { metaData: { list: [{ "\ud83d": 1 }] } };
    refused(
      await world.call("POST", "/api/v1/devices", body(deviceBody(product, deep))),
      "PARAMETER_INVALID",
      "metaData",
    );
    const owl = await world.make("/api/v1/products", productBody({ productName: unique("\ud83e\udd89") }));
    assert.match(String(owl.productName), /🦉/u);
  });

  test("the link to an export, which holds tokens, is for those who may begin one", async () => {
    const reply = await world.call("GET", "/api/v1/devices_export");
    const status = await ended(world, reply);
    assert.match(String(status.excelPath), /^download\?/);
    const url = String(reply.record.statusUrl);
    const [viewer, operator] = [await world.keyOf("viewer"), await world.keyOf("operator")];
    const seen = await taskStatus(world, url, { key: viewer });
    assert.equal([seen.state, seen.excelPath], ["SUCCESS", null]);
    assert.match(String((await taskStatus(world, url, { key: operator })).excelPath), /^download\?/);
  });
});
