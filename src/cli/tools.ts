import { systemClock } from "../../store/lib/clock.js";
import { asError } from "../../store/lib/errors.js";
import type { Db } from "../../store/metadata/db/db.js";
import { newSecret } from "../../store/metadata/db/ids.js";
import { brokerDevices } from "../../store/metadata/devices/broker-devices.js";
import { openVault } from "../../store/metadata/users/sealing.js";
import { listTenants } from "../../store/metadata/users/tenants.js";
import { useTimeZones } from "../../store/time-zones/in-use.js";
import { dynamicSecurity, type Prepared } from "../brokers/mosquitto.js";
import { writeMosquittoConfig } from "../brokers/mosquitto-file.js";
import { ownCredentials } from "../brokers/own-account.js";
import { type Config, ConfigError } from "../config/config.js";
import { createTenantWithAdmin } from "../host/first-start.js";
import { endTool, lockDataDir } from "../host/lock.js";
import { masterKey } from "../host/master-key.js";
import { openMetadata } from "../host/metadata.js";
import { findService } from "../host/service-address.js";
import { backupTool, backupUsage, restoreTool, restoreUsage } from "./backup-tools.js";
import { moveSeriesTool, moveSeriesUsage } from "./move-series.js";
import {
  exportTool,
  exportUsage,
  importTool,
  importUsage,
  redecodeTool,
  redecodeUsage,
} from "./points-tools.js";
import { verifyTool, verifyUsage } from "./verify.js";

/**
 * The commands of `tidemark` other than serve. They go through the running service; if none runs, those that need only
 * the metadata open it themselves.
 */
interface Tool {
  readonly usage: readonly string[];
  readonly about: string;
  run(args: readonly string[], config: Config): Promise<unknown>;
}
type Call = (method: string, path: string, body?: object) => Promise<unknown>;

export const tools: { readonly [name: string]: Tool } = {
  tenant: {
    usage: ["tidemark tenant add <name> <admin user name>", "tidemark tenant list"],
    about: "Makes a tenant with its first admin, or lists the tenants.",
    run: tenantTool,
  },
  import: {
    usage: [importUsage],
    about: "Takes points from a file.",
    run: importTool,
  },
  export: {
    usage: [exportUsage],
    about: "Writes points to a file.",
    run: exportTool,
  },
  redecode: {
    usage: [redecodeUsage],
    about: "Decodes the kept messages of a device again.",
    run: redecodeTool,
  },
  resettle: {
    usage: ["tidemark resettle <YYYY-MM-DD HH:MM:SS>"],
    about: "Writes the points of all kept messages since then again.",
    run: resettleTool,
  },
  verify: {
    usage: [verifyUsage],
    about: "Reads every byte of a data folder, live or copied, and says what is not as it was written.",
    run: verifyTool,
  },
  backup: {
    usage: [backupUsage],
    about:
      "Copies the data folder while the service runs; into a folder, only what has changed since the last backup there.",
    run: (args, config) => backupTool(args, config, createServiceCall),
  },
  restore: {
    usage: [restoreUsage],
    about: "Puts a backup into DATA_DIR, which must be empty.",
    run: restoreTool,
  },
  "move-series": {
    usage: [moveSeriesUsage],
    about:
      "Takes the points from one engine to the other while no service runs, looks for each there, and empties the first.",
    run: moveSeriesTool,
  },
  "mosquitto-config": {
    usage: ["tidemark mosquitto-config <file of the plugin>"],
    about: "Writes who may do what into a file of Mosquitto's dynamic security plugin.",
    run: mosquittoTool,
  },
  "set-aside": {
    usage: ["tidemark set-aside list", "tidemark set-aside replay|drop <id>"],
    about: "Lists messages that ended the service, tries one again, or gives it up.",
    run: deadLetterTool,
  },
};

async function tenantTool([verb, tenantName, username]: readonly string[], config: Config): Promise<unknown> {
  if (verb === "list") {
    const call = await createServiceCall(config);
    return call === null ? withMetadata(config, listTenants) : call("GET", "/api/v1/tenants");
  }
  if (verb !== "add" || tenantName === undefined || username === undefined) throw misused("tenant");
  const call = await createServiceCall(config);
  if (call !== null) return call("POST", "/api/v1/tenants", { tenantName, username });
  return withMetadata(config, async (db) => {
    const password = newSecret();
    const { tenant } = await createTenantWithAdmin(db, systemClock.now(), tenantName, username, password);
    return { ...tenant, username, password };
  });
}

async function mosquittoTool([file]: readonly string[], config: Config): Promise<unknown> {
  if (file === undefined) throw misused("mosquitto-config");
  const call = await createServiceCall(config);
  if (call !== null) {
    return writeMosquittoConfig(file, (await call("GET", "/api/v1/broker/mosquitto")) as Prepared);
  }
  const own = ownCredentials(config);
  if (own === null) throw new Error("BROKER_URL, BROKER_USERNAME and BROKER_PASSWORD must be set");
  return withMetadata(config, async (db) => {
    const devices = { db, vault: await openVault(db, await masterKey(config)) };
    return writeMosquittoConfig(file, await dynamicSecurity(brokerDevices(devices, systemClock.now()), own));
  });
}

async function resettleTool([startTime]: readonly string[], config: Config): Promise<unknown> {
  if (startTime === undefined) throw misused("resettle");
  const call = await createServiceCall(config);
  if (call === null) throw new Error(`no service runs on ${config.dataDir}; start it with: tidemark serve`);
  return call("POST", "/api/v1/resettle", { startTime });
}

async function deadLetterTool([verb, id]: readonly string[], config: Config): Promise<unknown> {
  const needsID = verb === "replay" || verb === "drop";
  if ((verb !== "list" && !needsID) || needsID !== /^\d+$/.test(id ?? "")) throw misused("set-aside");
  const call = await createServiceCall(config);
  if (call === null) throw new Error(`no service runs on ${config.dataDir}; start it with: tidemark serve`);
  return verb === "list" ? call("GET", "/api/v1/set_aside") : call("POST", `/api/v1/set_aside/${id}/${verb}`);
}

function misused(name: string): Error {
  return new Error(`usage: ${tools[name]?.usage.join(" | ")}`);
}

/** Opens the metadata for one action, and keeps the data folder locked until it ends. */
async function withMetadata<T>(config: Config, action: (db: Db) => Promise<T>): Promise<T> {
  const lock = await lockDataDir(config.dataDir, { onLost: endTool });
  try {
    const db = await openMetadata(config);
    try {
      if ((await listTenants(db)).length === 0)
        throw new Error("the deployment is empty: start the service first");
      return await action(db);
    } finally {
      await db.close();
    }
  } finally {
    await lock.release();
  }
}

/** Runs a tool and prints its answer. Returns the exit code. */
export async function runTool(tool: Tool, args: readonly string[], config: Config): Promise<number> {
  useTimeZones(config.timeZones);
  try {
    const answer = await tool.run(args, config);
    // A tool that has written its answer itself, such as an export, prints nothing more.
    if (answer !== undefined) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    return 0;
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [asError(error).message];
    for (const line of problems) process.stderr.write(`tidemark: ${line}\n`);
    return error instanceof ConfigError ? 2 : 1;
  }
}

/** Calls the service that holds the data folder; null if none runs. */
async function createServiceCall(config: Config): Promise<Call | null> {
  const service = await findService(config);
  if (service === null) return null;
  return async (method, path, body) => {
    const response = await fetch(`${service.http}${path}`, {
      method,
      headers: { Authorization: service.authorization, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { message?: string; errors?: object };
    if (!response.ok)
      throw new Error(`${answer.message ?? response.status} ${JSON.stringify(answer.errors ?? {})}`);
    return answer;
  };
}
