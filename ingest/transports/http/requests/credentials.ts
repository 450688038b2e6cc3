/** The user name and token of a device. */
interface Login {
  readonly username: string | undefined;
  readonly token: string | undefined;
}

const noLogin: Login = { username: undefined, token: undefined };

/**
 * `Basic` with deviceUsername and token (RFC 7617), or `Token deviceUsername:token`, as clients of InfluxDB send it. A
 * device that authenticates by a certificate leaves the token empty.
 */
export function parseLogin(authorization: string | undefined): Login {
  if (authorization === undefined) return noLogin;
  const blank = authorization.indexOf(" ");
  const kind = authorization.slice(0, Math.max(0, blank)).toLowerCase();
  const value = authorization.slice(blank + 1).trim();
  if (kind === "basic") return splitLogin(Buffer.from(value, "base64").toString("utf8"));
  return kind === "token" ? splitLogin(value) : noLogin;
}

/** A device's credentials by the parameters `u` and `p`, as clients of InfluxDB 1 send them, as a header has them. */
export function readAuthorization(query: URLSearchParams): string | undefined {
  const [username, token] = [query.get("u"), query.get("p")];
  if (username === null || token === null || username === "") return undefined;
  return `Basic ${Buffer.from(`${username}:${token}`).toString("base64")}`;
}

function splitLogin(text: string): Login {
  const colon = text.indexOf(":");
  if (colon < 0) return { username: text, token: undefined };
  return { username: text.slice(0, colon), token: text.slice(colon + 1) };
}
