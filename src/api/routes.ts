import type { Route } from "../http/route.js";
import { openApiDocument } from "../reference/document.js";
import { referenceRoutes } from "../reference/routes.js";
import { alertRouteRoutes } from "../routes/alert-routes.js";
import { alertRulePreviewRoutes } from "../routes/alert-rule-preview.js";
import { alertRuleRoutes } from "../routes/alert-rules.js";
import { alertRoutes } from "../routes/alerts.js";
import { apiKeyRoutes } from "../routes/api-keys.js";
import { appTemplateRoutes } from "../routes/app-templates.js";
import { backupRoutes } from "../routes/backups.js";
import { brokerAccessRoutes } from "../routes/broker-access.js";
import { brokerInfoRoutes } from "../routes/broker-info.js";
import { bulkRoutes } from "../routes/bulk.js";
import { certBindingRoutes } from "../routes/cert-bindings.js";
import { certRoutes } from "../routes/certs.js";
import { changeRoutes } from "../routes/changes.js";
import { clientSessionRoutes } from "../routes/client-sessions.js";
import { connectLogRoutes } from "../routes/connect-logs.js";
import { contactPointRoutes } from "../routes/contact-points.js";
import { controlLogRoutes } from "../routes/control-logs.js";
import { dashboardShareRoutes } from "../routes/dashboard-shares.js";
import { dashboardRoutes } from "../routes/dashboards.js";
import { dataRoutes } from "../routes/data.js";
import { dataPointRoutes } from "../routes/data-points.js";
import { dataStreamRoutes } from "../routes/data-streams.js";
import { deadLetterRoutes } from "../routes/dead-letters.js";
import type { AppDeps } from "../routes/deps.js";
import { deviceLiveRoutes } from "../routes/device-live.js";
import { devicePlaceRoutes } from "../routes/device-place.js";
import { devicePlacesRoutes } from "../routes/device-places.js";
import { deviceRoutes } from "../routes/devices.js";
import { devicesTransferRoutes } from "../routes/devices-transfer.js";
import { eventRoutes } from "../routes/events.js";
import { explainRoutes } from "../routes/explain.js";
import { fleetRoutes } from "../routes/fleet.js";
import { gatewayDataRoutes } from "../routes/gateway-data.js";
import { gatewayRoutes } from "../routes/gateways.js";
import { groupMemberRoutes } from "../routes/group-members.js";
import { groupRoutes } from "../routes/groups.js";
import { historyRoutes } from "../routes/history.js";
import { ingestStatusRoutes } from "../routes/ingest-status.js";
import { liveRoutes } from "../routes/live.js";
import { mapTileRoutes } from "../routes/map-tiles.js";
import { metricPreviewRoutes } from "../routes/metric-preview.js";
import { metricRoutes } from "../routes/metrics.js";
import { notificationRoutes } from "../routes/notifications.js";
import { overviewRoutes } from "../routes/overview.js";
import { platformSelectRoutes } from "../routes/platform-select.js";
import { policyRoutes } from "../routes/policies.js";
import { policyBindingRoutes } from "../routes/policy-bindings.js";
import { productResourceRoutes } from "../routes/product-resources.js";
import { productRoutes } from "../routes/products.js";
import { publishRoutes } from "../routes/publish.js";
import { scheduleRoutes } from "../routes/schedules.js";
import { searchRoutes } from "../routes/search.js";
import { serviceRoutes } from "../routes/service.js";
import { sessionRoutes } from "../routes/session.js";
import { sharedRoutes } from "../routes/shared.js";
import { silenceRoutes } from "../routes/silences.js";
import { subscriptionRoutes } from "../routes/subscriptions.js";
import { taskRoutes } from "../routes/tasks.js";
import { tenantRoutes } from "../routes/tenants.js";
import { timeZoneRoutes } from "../routes/time-zones.js";
import { userRoutes } from "../routes/users.js";

/** Every route of the service, in the order of the reference. */
export function apiRoutes(deps: AppDeps): Route[] {
  const routes: Route[] = [
    ...serviceRoutes(deps),
    ...timeZoneRoutes(),
    ...sessionRoutes(deps),
    ...userRoutes(deps),
    ...tenantRoutes(deps),
    ...apiKeyRoutes(deps),
    ...changeRoutes(deps),
    ...productRoutes(deps),
    ...deviceRoutes(deps),
    ...fleetRoutes(deps),
    ...bulkRoutes(deps),
    ...searchRoutes(deps),
    ...dataPointRoutes(deps),
    ...dataStreamRoutes(deps),
    ...metricRoutes(deps),
    ...eventRoutes(deps),
    ...dataRoutes(deps),
    ...metricPreviewRoutes(deps),
    ...deviceLiveRoutes(deps),
    ...liveRoutes(deps),
    ...historyRoutes(deps),
    ...explainRoutes(deps),
    ...gatewayRoutes(deps),
    ...groupRoutes(deps),
    ...groupMemberRoutes(deps),
    ...policyRoutes(deps),
    ...policyBindingRoutes(deps),
    ...certRoutes(deps),
    ...certBindingRoutes(deps),
    ...subscriptionRoutes(deps),
    ...brokerInfoRoutes(deps),
    ...brokerAccessRoutes(deps),
    ...publishRoutes(deps),
    ...scheduleRoutes(deps),
    ...controlLogRoutes(deps),
    ...connectLogRoutes(deps),
    ...taskRoutes(deps),
    ...devicesTransferRoutes(deps),
    ...productResourceRoutes(deps),
    ...appTemplateRoutes(deps),
    ...dashboardRoutes(deps),
    ...dashboardShareRoutes(deps),
    ...sharedRoutes(deps),
    ...alertRoutes(deps),
    ...alertRuleRoutes(deps),
    ...alertRulePreviewRoutes(deps),
    ...contactPointRoutes(deps),
    ...alertRouteRoutes(deps),
    ...silenceRoutes(deps),
    ...notificationRoutes(deps),
    ...ingestStatusRoutes(deps),
    ...clientSessionRoutes(deps),
    ...overviewRoutes(deps),
    ...deadLetterRoutes(deps),
    ...backupRoutes(deps),
    ...platformSelectRoutes(deps),
    ...devicePlaceRoutes(deps),
    ...devicePlacesRoutes(deps),
    ...mapTileRoutes(deps),
    ...gatewayDataRoutes(deps),
    ...referenceRoutes(() => openApiDocument(routes), deps.config.basePath),
  ];
  return routes;
}
