import { join } from "node:path";
import { brokerDevices } from "../store/broker-devices.js";
import type { Db } from "../store/db.js";
import { newSecret } from "../store/ids.js";
import { createVault } from "../store/secrets.js";
import { listTenants } from "../store/tenants.js";
import { ownCredentials } from "./broker.js";
import { dynamicSecurity, type Prepared } from "./brokers/mosquitto.js";
import { writeMosquittoConfig } from "./brokers/mosquitto-file.js";
import type { Config } from "./config.js";
import { createTenantWithAdmin, masterKey } from "./first-start.js";
import { exportTool, importTool, redecodeTool } from "./history/tools.js";
import { lockDataDir } from "./lock.js";
import { openMetadata } from "./metadata.js";
import { findService } from "./service-address.js";

/**
 * Commands of `tidemark` beside serve. They go through the running service; where none runs, those that need
 * only the metadata open it themselves.
 */
type Tool = (args: readonly string[], config: Config) => Promise<unknown>;
type Call = (method: string, path: string, body?: object) => Promise<unknown>;

export const tools: Readonly<Record<string, Tool>> = {
  tenant: async ([verb, tenantName, username], config) => {
    const call = await callerOf(config);
    if (verb === "list") {
      return call === null ? withMetadata(config, listTenants) : call("GET", "/api/v1/tenants");
    }
    if (verb !== "add" || tenantName === undefined || username === undefined) {
      throw new Error("usage: tidemark tenant add <name> <admin user name> | tidemark tenant list");
    }
    if (call !== null) return call("POST", "/api/v1/tenants", { tenantName, username });
    return withMetadata(config, async (db) => {
      const password = newSecret();
      const { tenant } = await createTenantWithAdmin(db, Date.now(), tenantName, username, password);
      return { ...tenant, username, password };
    });
  },
  "mosquitto-config": async ([file], config) => {
    if (file === undefined) throw new Error("usage: tidemark mosquitto-config <file of the plugin>");
    const call = await callerOf(config);
    if (call !== null) {
      return writeMosquittoConfig(file, (await call("GET", "/api/v1/broker/mosquitto")) as Prepared);
    }
    const own = ownCredentials(config);
    if (own === null) throw new Error("BROKER_URL, BROKER_USERNAME and BROKER_PASSWORD must be set");
    return withMetadata(config, async (db) => {
      const devices = { db, vault: createVault(await masterKey(config)) };
      return writeMosquittoConfig(file, await dynamicSecurity(brokerDevices(devices, Date.now()), own));
    });
  },
  resettle: async ([startTime], config) => {
    if (startTime === undefined) throw new Error("usage: tidemark resettle <YYYY-MM-DD HH:MM:SS>");
    const call = await callerOf(config);
    if (call === null) throw new Error(`no service runs on ${config.dataDir}; start it with: tidemark serve`);
    return call("POST", "/api/v1/resettle", { startTime });
  },
  import: importTool,
  export: exportTool,
  redecode: redecodeTool,
};

/** Opens the metadata for one action, the data folder being held meanwhile. */
async function withMetadata<T>(config: Config, action: (db: Db) => Promise<T>): Promise<T> {
  const lock = await lockDataDir(join(config.dataDir, "lock.db"));
  try {
    const db = await openMetadata(config);
    try {
      if ((await listTenants(db)).length === 0)
        throw new Error("the deployment is empty: start the service first");
      return await action(db);
    } finally {
      db.close();
    }
  } finally {
    lock.release();
  }
}

/** Runs a tool and prints its answer. Returns the exit code. */
export async function runTool(name: string, args: readonly string[], config: Config): Promise<number> {
  const tool = tools[name];
  if (tool === undefined) {
    process.stderr.write(`tidemark: no command ${name}; there are serve, ${Object.keys(tools).join(", ")}\n`);
    return 2;
  }
  try {
    const answer = await tool(args, config);
    // What has written its answer by itself, as an export has, says nothing more.
    if (answer !== undefined) process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`tidemark: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/** Calls the service that holds the data folder; null where none runs. */
async function callerOf(config: Config): Promise<Call | null> {
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
