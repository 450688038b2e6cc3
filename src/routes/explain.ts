import { z } from "@hono/zod-openapi";
import type { DecodableMessage } from "../../ingest/decode/points.js";
import { reasons } from "../../ingest/decode/reasons.js";
import { isDecodable, toMessage } from "../../ingest/followers/records.js";
import { payloadBytesMax } from "../../ingest/uplinks/accept.js";
import { anyDeviceIDs } from "../../store/metadata/devices/devices.js";
import { listProductDataStreams } from "../../store/metadata/products/data-streams.js";
import { entriesShownMax, explainEntries } from "../explain/explain-entries.js";
import { explainPayload } from "../explain/explain-payload.js";
import { ApiError, invalid } from "../http/errors.js";
import { integerField } from "../http/fields.js";
import { type Route, route } from "../http/route.js";
import { idParams, intSchema, textOrNull } from "../http/schemas.js";
import type { AppDeps } from "./deps.js";
import { resourceRoutes } from "./resource.js";

const topicCharactersMax = 1024;

const body = z
  .object({
    eventID: integerField(1).optional(),
    topic: z.string().max(topicCharactersMax).optional(),
    payload: z.string().optional().openapi({ description: "as text" }),
    base64: z.string().optional().openapi({ description: "as bytes, instead of payload" }),
  })
  .openapi("Explain");

const value = z.union([z.number(), z.string(), z.boolean(), z.array(z.number())]);
const formNames = ["binary", "cbor", "senml", "json"] as const;
const place = { from: intSchema, to: intSchema, fromBit: intSchema, toBit: intSchema };
const point = z.object({
  dataPointID: z.string(),
  dataPointIntID: intSchema,
  value,
  time: z.number().openapi({ description: "milliseconds since 1970, with fractions" }),
  from: z.union([z.object({ key: z.string() }), z.object({ fromByte: intSchema, toByte: intSchema })]),
});
const refused = z.object({
  key: textOrNull,
  value: textOrNull,
  reason: z.enum(reasons),
  count: intSchema,
  text: z.string(),
});
const unknownKey = z.object({ key: z.string(), suggestion: textOrNull, isInProduct: z.boolean() });
const what = { points: z.array(point), refused: z.array(refused), unknownKeys: z.array(unknownKey) };

const answer = z
  .object({
    form: z.object({
      taken: z.enum(formNames).nullable(),
      isEnvelope: z.boolean(),
      isEntry: z.boolean(),
      fault: z
        .object({ byte: intSchema, line: intSchema, column: intSchema, why: z.string() })
        .nullable()
        .openapi({
          description: "where the payload ceases to be JSON; bytes from 0, lines and columns from 1",
        }),
      others: z.array(z.object({ form: z.enum(formNames), why: z.string() })),
    }),
    stream: z.object({ id: intSchema, streamName: z.string() }).nullable(),
    ...what,
    isDiscarded: z.boolean(),
    isTruncated: z.boolean(),
    binary: z.array(z.object({ dataPointID: z.string(), ...place })).nullable(),
    entries: z
      .object({
        items: z.array(
          z.object({
            deviceID: textOrNull,
            deviceIntID: intSchema.nullable(),
            state: z.enum(["carried", "blocked", "not carried", "without DeviceID", "too deep or too large"]),
            ...what,
          }),
        ),
        count: intSchema,
      })
      .nullable(),
  })
  .openapi("Explained");

/** What becomes of a message, kept or made up, as the product is now. */
export function explainRoutes(deps: AppDeps): Route[] {
  const routes = resourceRoutes(deps);
  return [
    route({
      method: "post",
      path: "/api/v1/devices/{id}/explain",
      access: "read",
      tag: "Data",
      summary: `Decode a message without storing anything: which form, which points, why the rest is refused; of an envelope the first ${entriesShownMax} entries`,
      shape: { params: idParams, body },
      answer: { status: 200, schema: answer },
      errors: ["DATA_NOT_FOUND", "PAYLOAD_TOO_LARGE"],
      making: "rows",
      handle: async (input) => {
        const { caller, params } = input;
        const id = await routes.find(input, anyDeviceIDs, params.id);
        await deps.cluster?.atKeeper(id);
        const device = await deps.directory.get(id);
        if (device === undefined || device.device.tenant !== caller.tenant) {
          throw new ApiError("DATA_NOT_FOUND", "cannot find the device");
        }
        const message = await readRequestedMessage(deps, id, input.body);
        const rules = deps.decodeRules();
        const explained = await explainPayload(device, message, rules);
        const entries = explained.form.isEnvelope ? await explainEntries(deps, id, message, rules) : null;
        const { topic } = message;
        const streams = await listProductDataStreams(deps.db, device.device.productIntID);
        const stream = streams.find((one) => one.topic === topic && one.streamType % 2 === 1);
        return {
          status: 200,
          body: {
            ...explained,
            stream: stream === undefined ? null : { id: stream.id, streamName: stream.streamName },
            entries,
          },
        };
      },
    }),
  ];
}

/** @throws ApiError PARAMETER_INVALID, PAYLOAD_TOO_LARGE, DATA_NOT_FOUND */
async function readRequestedMessage(
  { events, now }: Pick<AppDeps, "events" | "now">,
  device: number,
  { eventID, topic, payload, base64 }: z.output<typeof body>,
): Promise<DecodableMessage> {
  if (eventID !== undefined) {
    if ([topic, payload, base64].some((one) => one !== undefined)) {
      throw invalid({ eventID: "must not be there together with topic, payload or base64" });
    }
    const record = await events.find(device, eventID);
    if (record === null) {
      throw new ApiError("DATA_NOT_FOUND", "cannot find the message", { eventID: "unknown" });
    }
    if (!isDecodable(record))
      throw invalid({ eventID: "a policy has refused the message: it has no points" });
    return toMessage(record);
  }
  if (topic === undefined) throw invalid({ topic: "is required without eventID" });
  if ((payload === undefined) === (base64 === undefined)) {
    throw invalid({ payload: "either payload or base64 is required" });
  }
  if (base64 !== undefined && !/^[A-Za-z0-9+/_-]*={0,2}$/.test(base64))
    throw invalid({ base64: "must be base64" });
  const bytes = payload === undefined ? Buffer.from(base64 ?? "", "base64") : Buffer.from(payload);
  if (bytes.length > payloadBytesMax) {
    throw new ApiError("PAYLOAD_TOO_LARGE", `a payload has at most ${payloadBytesMax} bytes`);
  }
  const receivedAt = now() * 1000;
  return { topic, payload: bytes, receivedAt, stamp: receivedAt };
}
