/** The InfluxDBs that have the points, as INFLUX_URL names them. */

export interface InfluxSettings {
  /** One or more; a shard's points are in one of them. */
  readonly servers: readonly InfluxServerSettings[];
  readonly org: string;
  readonly bucket: string;
}

interface InfluxServerSettings {
  readonly url: string;
  readonly token: string;
}

const serversMax = 64;

/** Addresses of http:// or https://, separated by commas; null: it is no such list. */
export function readInfluxURLs(text: string): readonly string[] | null {
  const urls = text.split(",", serversMax + 1).map((one) => one.trim());
  const isAddress = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url);
  return urls.length <= serversMax && urls.every(isAddress) ? urls : null;
}

interface InfluxEnvironment {
  readonly INFLUX_URL?: readonly string[] | undefined;
  readonly INFLUX_TOKEN?: string | undefined;
  readonly INFLUX_ORG?: string | undefined;
  readonly INFLUX_BUCKET: string;
}

/** Faults of the settings of InfluxDB, one a line. @param shards of the deployment's journal */
export function influxProblems(env: InfluxEnvironment, shards: number): string[] {
  const { INFLUX_URL: urls } = env;
  if (urls === undefined) return [];
  const problems: string[] = [];
  for (const name of ["INFLUX_TOKEN", "INFLUX_ORG"] as const) {
    if (env[name] === undefined) problems.push(`${name}: is required with INFLUX_URL`);
  }
  if (new Set(urls.map((url) => new URL(url).href)).size < urls.length)
    problems.push("INFLUX_URL: names an address twice");
  if (urls.length > 1 && urls.map((url) => new URL(url)).some((url) => url.username + url.password !== ""))
    problems.push(
      "INFLUX_URL: must have no user and no password in a list: the log and /readyz name its addresses",
    );
  if (urls.length > shards) {
    const has = shards === 1 ? "the journal is a single shard" : `the journal has ${shards} shards`;
    problems.push(
      `INFLUX_URL: names ${urls.length} InfluxDBs, and ${has}: each takes the points of one at least`,
    );
  }
  const tokens = parseTokens(env.INFLUX_TOKEN, urls);
  if (env.INFLUX_TOKEN !== undefined && tokens === null)
    problems.push(
      `INFLUX_TOKEN: must be one token, or ${urls.length} separated by commas, one for each InfluxDB`,
    );
  return problems;
}

/** Null: the points are in the embedded store. */
export function readInfluxSettings(env: InfluxEnvironment): InfluxSettings | null {
  const { INFLUX_URL: urls, INFLUX_ORG: org, INFLUX_BUCKET: bucket } = env;
  const tokens = urls === undefined ? null : parseTokens(env.INFLUX_TOKEN, urls);
  if (urls === undefined || tokens === null || org === undefined) return null;
  return { servers: urls.map((url, i) => ({ url, token: tokens[i] ?? "" })), org, bucket };
}

/** One for each address; null: there are too few or too many. The token of a single InfluxDB may hold commas. */
function parseTokens(text: string | undefined, urls: readonly string[]): readonly string[] | null {
  if (text === undefined) return null;
  const tokens = urls.length === 1 ? [text] : text.split(",").map((token) => token.trim());
  if (tokens.includes("")) return null;
  if (tokens.length === 1) return urls.map(() => tokens[0] ?? "");
  return tokens.length === urls.length ? tokens : null;
}
