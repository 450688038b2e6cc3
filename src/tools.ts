import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "./config.js";

/** Commands of `tidemark` beside serve; they go through the running service. */
type Tool = (args: readonly string[], call: Call) => Promise<unknown>;
type Call = (method: string, path: string, body?: object) => Promise<unknown>;

export const tools: Readonly<Record<string, Tool>> = {
  tenant: async ([verb, tenantName, username], call) => {
    if (verb === "list") return call("GET", "/api/v1/tenants");
    if (verb !== "add" || tenantName === undefined || username === undefined) {
      throw new Error("usage: tidemark tenant add <name> <admin user name> | tidemark tenant list");
    }
    return call("POST", "/api/v1/tenants", { tenantName, username });
  },
  resettle: async ([startTime], call) => {
    if (startTime === undefined) throw new Error("usage: tidemark resettle <YYYY-MM-DD HH:MM:SS>");
    return call("POST", "/api/v1/resettle", { startTime });
  },
};

/** Runs a tool and prints its answer. Returns the exit code. */
export async function runTool(name: string, args: readonly string[], config: Config): Promise<number> {
  const tool = tools[name];
  if (tool === undefined) {
    process.stderr.write(`tidemark: no command ${name}; there are serve, ${Object.keys(tools).join(", ")}\n`);
    return 2;
  }
  try {
    const answer = await tool(args, await caller(config));
    process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`);
    return 0;
  } catch (error) {
    process.stderr.write(`tidemark: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

/** Calls the service that holds the data folder, with the configured key or that of the first start. */
async function caller(config: Config): Promise<Call> {
  const read = async (name: string): Promise<Record<string, string>> =>
    JSON.parse(await readFile(join(config.dataDir, name), "utf8").catch(() => "{}")) as Record<
      string,
      string
    >;
  const { http } = await read("service.json");
  if (http === undefined)
    throw new Error(`no service runs on ${config.dataDir}; start it with: tidemark serve`);
  const key =
    config.apiKey === null
      ? (await read("first-start.json")).apiKey
      : `${config.apiKey.appID}:${config.apiKey.appSecret}`;
  return async (method, path, body) => {
    const response = await fetch(`${http}${path}`, {
      method,
      headers: { Authorization: `Bearer ${key ?? ""}`, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as { message?: string; errors?: object };
    if (!response.ok)
      throw new Error(`${answer.message ?? response.status} ${JSON.stringify(answer.errors ?? {})}`);
    return answer;
  };
}
