/** What is looked for on behalf of streams: how often, and what one tenant's trouble is to the others. */

import type { NewEvent } from "../../ingest/live/tenant-events.js";
import { createTenantFeed } from "../../ingest/live/tenant-feed.js";
import { createLiveWatch } from "../../src/live/watch.js";
import { overviewWatched } from "../../src/live/watch-overview.js";
import type { Db } from "../../store/metadata/db/db.js";
import { assert, suite, until } from "../suite.js";

function createStage({ failsFor = 0 }: { readonly failsFor?: number } = {}) {
  const asked: number[] = [];
  const told: { readonly tenant: number; readonly figures: Readonly<Record<string, unknown>> }[] = [];
  const warnings: string[] = [];
  const snapshot = async (statements: readonly { readonly args: readonly number[] }[]) => {
    asked.push(statements.length);
    if (statements[0]?.args[0] === failsFor) throw new Error("the store is in trouble");
    return statements.map(() => [{ total: asked.length, gateways: 0, n: asked.length }]);
  };
  const deps = {
    db: { snapshot } as unknown as Db,
    feed: {
      tenantsOf: (topic: string) => (topic === "overview" ? [1, 2] : []),
      tell: (tenant: number, one: NewEvent) => {
        if (one.topic === "overview") told.push({ tenant, figures: JSON.parse(one.figures) });
      },
    },
    figures: async () => ({ rates: null, truncated: false }) as never,
  };
  return { deps, asked, told, warnings };
}

suite("what is looked for on behalf of live streams", (test) => {
  test("devices are counted each second, products and groups every fifteen", async () => {
    const { deps, asked, told } = createStage();
    let now = 1000;
    const watched = overviewWatched(deps, () => now);
    const seen = await watched.begin(1);
    for (; now < 32_000; now += 500) await watched.look(1, seen);
    assert.is(told.length, 31, "once a second");
    assert.equal(
      asked.map((count, i) => (count === 4 ? i : -1)).filter((i) => i >= 0),
      [0, 15, 30],
    );
    assert.ok(asked.every((count) => count === 4 || count === 2));
    assert.equal(
      told
        .slice(13, 17)
        .map(({ figures: { products, devices } }) => [products, (devices as { total: number }).total]),
      [14, 15, 16, 17].map((n) => [n < 16 ? 1 : 16, n]),
    );
  });

  test("a tenant whose figures cannot be had does not keep the next one's away, and is said once", async () => {
    const { deps, told, warnings } = createStage({ failsFor: 1 });
    const nothing = (): void => undefined;
    const warn = (text: string): void => void warnings.push(text);
    const watch = createLiveWatch({
      ...deps,
      log: { debug: nothing, info: nothing, warn, error: warn } as never,
    });
    await watch.begin(1, ["overview"]);
    await until(() => told.length >= 2, { what: "the figures of the other tenant" });
    await watch.close();
    assert.ok(told.every(({ tenant }) => tenant === 2));
    assert.equal(warnings, ["cannot look for overview that live streams are told"]);
  });

  test("figures are counted for seconds after the last stream, other topics are held for its return", async () => {
    const feed = createTenantFeed();
    feed.subscribe(1, ["overview", "alerts"], null)?.close();
    assert.equal([feed.tenantsOf("overview"), feed.tenantsOf("alerts")], [[1], [1]]);
    const startedAt = performance.now();
    await until(() => feed.tenantsOf("overview").length === 0, { what: "an end of the figures" });
    assert.ok(performance.now() - startedAt < 5_000);
    assert.equal(feed.tenantsOf("alerts"), [1]);
    feed.close();
  });
});
