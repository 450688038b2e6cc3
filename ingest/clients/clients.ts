import { createSlice } from "../../store/lib/scheduling.js";
import { createShares } from "../../store/lib/shares.js";
import { type Denied, isValidAt } from "../access/credentials.js";
import type { Denials } from "../access/denials.js";
import type { ByShard } from "../directory/by-shard.js";
import type { DeviceEntry } from "../directory/entries.js";
import { addCount } from "../meter.js";
import { takeNothing } from "../uplinks/accept.js";
import {
  type ClientContext,
  type ClientLink,
  type ClientRequest,
  DeviceClient,
  type LinkMaker,
} from "./client.js";
import {
  type Authenticate,
  type Credentials,
  findLateRejection,
  identify as identifyClient,
  type Rejection,
} from "./identify.js";

/** Why a client is not let in. */
export interface Rejected {
  readonly reason: Rejection;
}

/** The clients of one protocol that is not MQTT. */
interface Clients<L extends ClientLink> {
  /** The device's client, opened if it is not there; one that is there already is the same for all of its requests. */
  enter(credentials: Credentials, ip: string, terms: ClientTerms<L>): Promise<DeviceClient<L> | Rejected>;
  /** A client of its own; one of the same client id ends. */
  open(credentials: Credentials, ip: string, terms: ClientTerms<L>): Promise<DeviceClient<L> | Rejected>;
  /** Ends those that have been silent for too long. */
  sweep(): Promise<void>;
  readonly size: number;
}

/** How a client is opened. */
interface ClientTerms<L extends ClientLink>
  extends Pick<ClientRequest, "protocol" | "clientID" | "keepAlive" | "sessionExpiry" | "inFlight"> {
  readonly link: LinkMaker<L>;
}

export interface ClientsContext extends ClientContext {
  readonly denials: Denials;
  /** Clients at once, shared by tenants. */
  readonly clientsMax: number;
  readonly authenticate: Authenticate;
}

interface Opening<L extends ClientLink> {
  readonly client: DeviceClient<L>;
  /** Resolves once its connect record is on disk. */
  readonly opened: Promise<void>;
}

interface Identified {
  readonly entry: DeviceEntry;
  /** The context of its shard. */
  readonly context: ClientsContext;
}

/** Clients of a tenant that are looked at for one that can give way. */
const looksMax = 64;

/** What clients of all shards share. */
export type SharedClientsContext = Pick<
  ClientsContext,
  "limits" | "denials" | "now" | "meter" | "clientsMax" | "authenticate"
>;

/** @param isBusy whether somebody waits for the client: then it is not silent, and does not give way */
export function createClients<L extends ClientLink>(
  shared: SharedClientsContext,
  shards: ByShard<ClientsContext>,
  isBusy: (client: DeviceClient<L>) => boolean,
): Clients<L> {
  const { denials, now, meter, clientsMax } = shared;
  /** By device, the one that is open or being opened under each client id. */
  const open = new Map<string, Opening<L>>();
  /** Under way. */
  const attempts = new Map<string, Promise<DeviceEntry | Denied>>();
  const places = createShares<number>(clientsMax);
  /** By tenant, in the order in which they came. */
  const byTenant = new Map<number, Set<DeviceClient<L>>>();

  const clientKey = (entry: DeviceEntry, clientID: string): string => `${entry.id} ${clientID}`;

  function ended(client: DeviceClient<L>): void {
    const name = clientKey(client.entry, client.clientID);
    if (open.get(name)?.client === client) open.delete(name);
    const { tenant } = client.entry.device;
    const ofTenant = byTenant.get(tenant);
    ofTenant?.delete(client);
    if (ofTenant?.size === 0) byTenant.delete(tenant);
    places.give(tenant, 1);
  }

  /** Takes a place for the tenant; if none is free, one of its oldest clients that is not busy gives way. */
  function makeRoom(tenant: number): boolean {
    if (places.take(tenant, 1)) return true;
    let looks = 0;
    for (const client of byTenant.get(tenant) ?? []) {
      if (++looks > looksMax) return false;
      if (client.state === null || isBusy(client)) continue;
      client.end("gave_way");
      return places.take(tenant, 1);
    }
    return false;
  }

  /** Requests that come at once with the same credentials are one attempt. */
  const authenticateOnce: Authenticate = (username, token, certificate, ip) => {
    const attempt = () => shared.authenticate(username, token, certificate, ip);
    if (username === undefined || token === undefined) return attempt();
    const name = `${ip} ${certificate?.fingerprint} ${username.length} ${username}${token}`;
    const pending = attempts.get(name) ?? attempt().finally(() => attempts.delete(name));
    attempts.set(name, pending);
    return pending;
  };
  const admission = {
    authenticate: async (...shown: Parameters<Authenticate>) => {
      const found = await authenticateOnce(...shown);
      if ("denial" in found) addCount(meter.ended, found.denial);
      return found;
    },
    denials,
    takesNothing: () => takeNothing(shards),
    contextOf: shards.whenPlaced,
  };

  async function identify(
    credentials: Credentials,
    ip: string,
    { clientID, keepAlive }: ClientTerms<L>,
  ): Promise<Identified | Rejected> {
    const attempt = { credentials, ip, clientID, keepAlive, isWaiting: () => true };
    const found = await identifyClient<ClientsContext>(admission, attempt);
    return found !== null && typeof found !== "string" ? found : { reason: found ?? "unavailable" };
  }

  function start(
    { entry, context }: Identified,
    credentials: Credentials,
    ip: string,
    { link, ...terms }: ClientTerms<L>,
  ): Promise<DeviceClient<L> | Rejected> | Rejected {
    const request = { ...terms, ...shownBy(credentials), ip };
    const { tenant } = entry.device;
    const client = new DeviceClient<L>(context, entry, request, ended);
    const reason = client.enter({ take: () => makeRoom(tenant), give: () => places.give(tenant, 1) });
    if (reason !== null) return { reason };
    const starting = { client, opened: client.open(link) };
    open.set(clientKey(entry, request.clientID), starting);
    byTenant.set(tenant, (byTenant.get(tenant) ?? new Set()).add(client));
    return untilOpen(starting);
  }

  /** While the journal takes nothing, the opening stays as it is: callers that wait for it must come again. */
  async function untilOpen({ client, opened }: Opening<L>): Promise<DeviceClient<L> | Rejected> {
    if (client.state !== null && !client.isEnded) return client;
    const kept = await client.waiting.untilKept((done) => void opened.then(done));
    return kept === "kept" && !client.isEnded ? client : { reason: "unavailable" };
  }

  return {
    enter: async (credentials, ip, terms) => {
      const identified = await identify(credentials, ip, terms);
      if ("reason" in identified) return identified;
      const known = open.get(clientKey(identified.entry, terms.clientID));
      if (known === undefined) return start(identified, credentials, ip, terms);
      const reason = findLateRejection(identified.context.accept, identified.entry, shownBy(credentials));
      return reason === null ? untilOpen(known) : { reason };
    },
    open: async (credentials, ip, terms) => {
      const identified = await identify(credentials, ip, terms);
      return "reason" in identified ? identified : start(identified, credentials, ip, terms);
    },
    sweep: async () => {
      const slice = createSlice();
      for (const { client } of open.values()) {
        if (slice.isOver()) await slice.next();
        if (client.isEnded || client.state === null) continue;
        const { certificate } = client;
        if (certificate !== null && !isValidAt(certificate, now())) client.end("thrown_out");
        else if (client.isSilent && !isBusy(client)) client.end("keep_alive");
      }
    },
    get size() {
      return open.size;
    },
  };
}

function shownBy({ username = "", token = "", certificate }: Credentials) {
  return { username, token, certificate };
}
