/** Makes the bucket where this is up to the service. */
import { HttpError } from "@influxdata/influxdb-client";
import { singleFlight } from "../../lib/single-flight.js";
import { InfluxUnavailable } from "./health.js";
import type { InfluxLedger } from "./ledger.js";

type Json = Readonly<Record<string, unknown>>;

/** One request of the server's API for buckets; the answer's text. @throws HttpError and errors of the connection */
type BucketRequest = (path: string, body?: Json) => Promise<string>;

interface BucketManager {
  /** Reads what it may of a bucket that exists. @throws HttpError and errors of the connection */
  look(): Promise<void>;
  /** Makes a missing bucket, or says why not. @throws InfluxUnavailable, HttpError and errors of the connection */
  ensure(): Promise<void>;
  /** The length of a shard, microseconds. */
  readonly shardMicros: number;
}

interface BucketManagerOptions {
  readonly org: string;
  readonly bucket: string;
  readonly ledger: InfluxLedger;
  readonly request: BucketRequest;
  /** The bucket is there, with this id. @throws StoreError if it is another one than it should be */
  readonly onFound: (id: string) => Promise<void>;
  /** The bucket has been made, or made again after it was gone with its points. */
  readonly onMade: (again: boolean) => Promise<void>;
}

/** The length of a shard in a bucket without retention, unless it says otherwise. */
const shardSecondsDefault = 7 * 86_400;

export function createBucketManager(options: BucketManagerOptions): BucketManager {
  const { org, bucket, ledger, request, onFound, onMade } = options;
  let shardSeconds = shardSecondsDefault;
  const making = singleFlight(ensure);

  /** False where the bucket is missing, or the token may not see it. */
  async function look(): Promise<boolean> {
    const query = `org=${encodeURIComponent(org)}&name=${encodeURIComponent(bucket)}`;
    const [found] = await readList(`/api/v2/buckets?${query}`, "buckets");
    if (found === undefined) return false;
    await onFound(String(found.id));
    shardSeconds = readShardSeconds(found) ?? shardSecondsDefault;
    if ((await ledger.bucketOrigin()) === null) await ledger.keepBucketOrigin("found");
    return true;
  }

  async function ensure(): Promise<void> {
    // Another process may just have made it.
    if (await look()) return;
    const known = await ledger.bucketOrigin();
    if (known === "found") {
      const why = "somebody else has made it, so it is not made again";
      throw new InfluxUnavailable("bucket", `cannot use InfluxDB: bucket "${bucket}" is gone; ${why}`);
    }
    const id = await make();
    if (id === null) return;
    await ledger.keepBucketOrigin("made");
    await onMade(known === "made");
    await onFound(id);
  }

  /** Its id, or null. */
  async function make(): Promise<string | null> {
    try {
      const [owner] = await readList(`/api/v2/orgs?org=${encodeURIComponent(org)}`, "orgs");
      if (owner === undefined) return null;
      const made = await request("/api/v2/buckets", { orgID: owner.id, name: bucket, retentionRules: [] });
      return String((JSON.parse(made) as Json).id);
    } catch (error) {
      // A token for one bucket may neither list nor make buckets; 422: another process has just made it.
      if (error instanceof HttpError && [401, 403, 404, 422].includes(error.statusCode)) return null;
      throw error;
    }
  }

  /** Reads nothing where the token may not look. */
  async function readList(path: string, key: string): Promise<Json[]> {
    try {
      return (JSON.parse(await request(path)) as Record<string, Json[] | undefined>)[key] ?? [];
    } catch (error) {
      if (error instanceof HttpError && [401, 403, 404].includes(error.statusCode)) return [];
      throw error;
    }
  }

  return {
    look: async () => {
      await look();
    },
    // Writes and queries that find it missing at the same time make it only once.
    ensure: making.run,
    get shardMicros() {
      return shardSeconds * 1e6;
    },
  };
}

function readShardSeconds({ retentionRules }: Json): number | null {
  const [rule] = Array.isArray(retentionRules) ? (retentionRules as Json[]) : [];
  const seconds = Number(rule?.shardGroupDurationSeconds);
  return seconds > 0 ? seconds : null;
}
