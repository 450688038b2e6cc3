import { StoreError } from "../../lib/errors.js";

/** The reason shown for a deviceID that is not free yet. */
export const beingRemoved = "its points are being removed";

/** SQLite names an expression index in its errors, not the index's columns. */
const indexFields: Readonly<Record<string, string>> = {
  device_modbus: "modBusIndex",
  data_stream_topic: "topic",
  gateway_name: "gatewayName",
  subscription_topic: "topic",
};

/** The message of fetch, which libSQL's client passes on, if a remote store is away or breaks off. */
const networkTrouble = /^(fetch failed|terminated)$/;

/** Whether the store takes nothing because its disk is full; it may still be read. */
export function isDiskFull(error: unknown): boolean {
  const cause = error instanceof StoreError && error.cause instanceof Error ? error.cause : null;
  return cause !== null && "code" in cause && /^SQLITE_FULL/.test(String(cause.code));
}

/** Turns what a connection throws into what the store promises. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof TypeError && networkTrouble.test(error.message)) {
    return new StoreError("UNAVAILABLE", "cannot reach the metadata store: NETWORK", {}, { cause: error });
  }
  const code =
    error instanceof Error && !(error instanceof StoreError) && "code" in error ? error.code : null;
  if (!(error instanceof Error) || typeof code !== "string") return error;
  const { message } = error;
  const unique = /UNIQUE constraint failed: (?:index '(\w+)'|([\w., ]+))/.exec(message);
  if (unique) {
    const field = unique[1] ? (indexFields[unique[1]] ?? unique[1]) : (unique[2]?.split(".").at(-1) ?? "id");
    return new StoreError("CONFLICT", `cannot store the record: ${field} exists already`, {
      [field]: "exists already",
    });
  }
  if (message.includes("REMOVAL constraint failed")) {
    return new StoreError(
      "CONFLICT",
      `cannot store the record: the deviceID is not free yet, ${beingRemoved}`,
      {
        deviceID: beingRemoved,
      },
    );
  }
  if (message.includes("FOREIGN KEY constraint failed")) {
    return new StoreError("REFERENCED", "cannot change the record: other records refer to it");
  }
  if (message.includes("STANDING constraint failed")) {
    return new StoreError("DENIED", "missing or wrong credentials", { token: "is none any more" });
  }
  if (message.includes("HOLDER constraint failed")) {
    return new StoreError("MISMATCH", "cannot store it: another process has the shard");
  }
  if (message.includes("ADMIN constraint failed")) {
    return new StoreError("REFERENCED", "cannot change the user: the tenant must keep an admin");
  }
  if (/CLOSED|BUSY|LOCKED|FULL|IOERR|NETWORK|HRANA|SERVER_ERROR/.test(code)) {
    return new StoreError("UNAVAILABLE", `cannot reach the metadata store: ${code}`, {}, { cause: error });
  }
  return error;
}
