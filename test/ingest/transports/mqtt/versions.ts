/** Tests by version: what holds in 3.1.1 and in 5 is one test for each. */
import { makeDevice, makeProduct } from "../../../factories.js";
import type { Test } from "../../../suite.js";
import { type Rec, type World, worldSuite } from "../../../world.js";
import type { Version } from "./raw-client.js";

type Body = (device: Rec, version: Version) => Promise<void>;

interface ByVersion {
  /** In 3.1.1 and in 5. */
  each(name: string, body: Body): void;
  /** In 5 only. */
  five(name: string, body: Body): void;
  /** In 3.1.1 only. */
  four(name: string, body: Body): void;
}

const names: Readonly<Record<Version, string>> = { 3: "3.1", 4: "3.1.1", 5: "5" };

/** A service, and for each test a device of its own. */
export function mqttSuite(
  name: string,
  define: (tests: ByVersion, world: World, test: Test) => void,
  environment: Readonly<Record<string, string>> = {},
): void {
  worldSuite(
    name,
    (test, world) => {
      let product: Rec;
      test.before(async () => {
        product = await makeProduct(world);
      });
      const declare = (versions: readonly Version[]) => (what: string, body: Body) => {
        for (const version of versions) {
          test(`MQTT ${names[version]}: ${what}`, async () =>
            body(await makeDevice(world, product), version));
        }
      };
      define({ each: declare([4, 5]), five: declare([5]), four: declare([4]) }, world, test);
    },
    environment,
  );
}
