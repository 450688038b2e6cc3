import { z } from "@hono/zod-openapi";
import { type Route, route } from "../http/route.js";
import { brokerAddresses } from "../views/broker-info.js";
import type { AppDeps } from "./deps.js";

const address = z
  .string()
  .nullable()
  .openapi({ description: "host:port, null where the listener is off", example: "127.0.0.1:1883" });

const shown = z
  .object({
    mqttBroker: address,
    mqttsBroker: address,
    mqttssBroker: address,
    coapBroker: address,
    coapsBroker: address,
    coapssBroker: address,
    wsBroker: address,
    wssBroker: address,
  })
  .openapi("BrokerInfo");

export function brokerInfoRoutes({ brokers }: AppDeps): Route[] {
  return [
    route({
      method: "get",
      path: "/api/v1/broker_info",
      access: "read",
      tag: "Service",
      summary: "Where devices connect to",
      answer: { status: 200, schema: shown },
      handle: () => ({ status: 200, body: brokerAddresses(brokers) }),
    }),
  ];
}
