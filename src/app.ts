import { randomUUID } from "node:crypto";
import { getConnInfo } from "@hono/node-server/conninfo";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { AppDeps } from "./deps.js";
import { mountRoutes, type Route, route } from "./http/route.js";
import { alertRoutes } from "./routes/alerts.js";
import { apiKeyRoutes } from "./routes/api-keys.js";
import { appTemplateRoutes } from "./routes/app-templates.js";
import { brokerInfoRoutes } from "./routes/broker-info.js";
import { certBindingRoutes } from "./routes/cert-bindings.js";
import { certRoutes } from "./routes/certs.js";
import { changeRoutes } from "./routes/changes.js";
import { connectLogRoutes } from "./routes/connect-logs.js";
import { controlLogRoutes } from "./routes/control-logs.js";
import { dataRoutes } from "./routes/data.js";
import { dataPointRoutes } from "./routes/data-points.js";
import { dataStreamRoutes } from "./routes/data-streams.js";
import { devicePlaceRoutes } from "./routes/device-place.js";
import { deviceRoutes } from "./routes/devices.js";
import { devicesTransferRoutes } from "./routes/devices-transfer.js";
import { eventRoutes } from "./routes/events.js";
import { gatewayDataRoutes } from "./routes/gateway-data.js";
import { gatewayRoutes } from "./routes/gateways.js";
import { groupMemberRoutes } from "./routes/group-members.js";
import { groupRoutes } from "./routes/groups.js";
import { metricRoutes } from "./routes/metrics.js";
import { platformSelectRoutes } from "./routes/platform-select.js";
import { policyRoutes } from "./routes/policies.js";
import { policyBindingRoutes } from "./routes/policy-bindings.js";
import { productResourceRoutes } from "./routes/product-resources.js";
import { productRoutes } from "./routes/products.js";
import { publishRoutes } from "./routes/publish.js";
import { scheduleRoutes } from "./routes/schedules.js";
import { serviceRoutes } from "./routes/service.js";
import { sessionRoutes } from "./routes/session.js";
import { subscriptionRoutes } from "./routes/subscriptions.js";
import { taskRoutes } from "./routes/tasks.js";
import { tenantRoutes } from "./routes/tenants.js";
import { userRoutes } from "./routes/users.js";
import { version } from "./version.js";

/** The HTTP API; never listens. */
export function createApp(deps: AppDeps): OpenAPIHono {
  const app = new OpenAPIHono();
  const routes: Route[] = [
    ...serviceRoutes(deps),
    ...sessionRoutes(deps),
    ...userRoutes(deps),
    ...tenantRoutes(deps),
    ...apiKeyRoutes(deps),
    ...changeRoutes(deps),
    ...productRoutes(deps),
    ...deviceRoutes(deps),
    ...dataPointRoutes(deps),
    ...dataStreamRoutes(deps),
    ...metricRoutes(deps),
    ...eventRoutes(deps),
    ...dataRoutes(deps),
    ...gatewayRoutes(deps),
    ...groupRoutes(deps),
    ...groupMemberRoutes(deps),
    ...policyRoutes(deps),
    ...policyBindingRoutes(deps),
    ...certRoutes(deps),
    ...certBindingRoutes(deps),
    ...subscriptionRoutes(deps),
    ...brokerInfoRoutes(deps),
    ...publishRoutes(deps),
    ...scheduleRoutes(deps),
    ...controlLogRoutes(deps),
    ...connectLogRoutes(deps),
    ...taskRoutes(deps),
    ...devicesTransferRoutes(deps),
    ...productResourceRoutes(deps),
    ...appTemplateRoutes(deps),
    ...alertRoutes(deps),
    ...platformSelectRoutes(deps),
    ...devicePlaceRoutes(deps),
    ...gatewayDataRoutes(deps),
    referenceRoute(app),
  ];
  app.openAPIRegistry.registerComponent("securitySchemes", "bearer", { type: "http", scheme: "bearer" });
  app.openAPIRegistry.registerComponent("securitySchemes", "basic", { type: "http", scheme: "basic" });
  mountRoutes(app, routes, {
    authenticator: deps.authenticator,
    log: deps.log,
    requestID: randomUUID,
    variant: deps.config.apiVariant,
    addressOf: (context) => {
      try {
        return getConnInfo(context).remote.address ?? "";
      } catch {
        // Requests made within the process have no socket.
        return "";
      }
    },
  });
  return app;
}

/** The API reference, made from the routes. */
function referenceRoute(app: OpenAPIHono): Route {
  let document: string | null = null;
  return route({
    method: "get",
    path: "/openapi.json",
    access: "public",
    tag: "Service",
    summary: "This API as OpenAPI 3.1",
    answer: { status: 200 },
    handle: () => {
      document ??= JSON.stringify(
        app.getOpenAPI31Document({ openapi: "3.1.0", info: { title: "Tidemark", version } }),
      );
      return { status: 200, body: document, type: "application/json; charset=utf-8" };
    },
  });
}
