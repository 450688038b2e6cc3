/** Ending sessions while the disk takes nothing: either all of it is on record, or nothing has ended. */
import { createMeter } from "../../../ingest/meter.js";
import { createChanges } from "../../../ingest/sessions/changes.js";
import { createClientSessions } from "../../../ingest/sessions/client-sessions.js";
import { createConnections } from "../../../ingest/sessions/connections.js";
import { createSessionRegistry } from "../../../ingest/sessions/session-registry.js";
import { assert, suite } from "../../suite.js";

const at = 1_800_000_000_000;

function begin(stopped: string | null) {
  const registry = createSessionRegistry(createChanges(), createMeter());
  const now = () => at;
  for (const clientID of ["a", "b"]) {
    const of = { tenant: 1, device: 7, deviceID: "d7", clientID, session: clientID.charCodeAt(0) };
    registry.openInbox({ ...of, at: at * 1000, expiry: 60 });
  }
  const recorded: string[] = [];
  const sessions = createClientSessions({
    registry,
    connections: createConnections({ registry, now }),
    records: {
      endSession: ({ device, clientID }, done) => {
        recorded.push(clientID);
        registry.endSession({ device, clientID, session: clientID.charCodeAt(0), at: at * 1000 });
        done();
      },
    },
    stopped: () => stopped,
    untilKept: (append) => new Promise((resolve) => append(() => resolve("kept"))),
    now,
  });
  const left = () => sessions.of(7).map(({ clientID }) => clientID);
  return { sessions, recorded, left };
}

const owner = { tenant: 1, device: 7 };

suite("sessions ended by a person", (test) => {
  test("while nothing can be kept, nothing ends; an unknown one is still reported", async () => {
    const { sessions, recorded, left } = begin("disk full");
    assert.is(await sessions.end(owner, ["a"]), "unavailable");
    assert.equal(await sessions.end(owner, ["a", "c"]), { unknown: "c" });
    assert.equal([recorded, left()], [[], ["a", "b"]]);
  });

  test("otherwise each has its record, in the order that was asked for", async () => {
    const { sessions, recorded, left } = begin(null);
    assert.equal(await sessions.end(owner, ["b", "a", "c"]), { unknown: "c" });
    assert.equal(left(), ["a", "b"]);
    assert.is(await sessions.end(owner, ["b", "a"]), "kept");
    assert.equal([recorded, left()], [["b", "a"], []]);
  });
});
