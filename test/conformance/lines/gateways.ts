import { array, both, holding, int, is, page, text } from "../form.js";
import { lines } from "../line.js";
import { edited, gateway, gatewayControlLog, gatewayEvent, labelled, made } from "../records.js";

const structured = holding({
  channel: array(holding({})),
  func: int,
  kbid: text,
  message: array(holding({})),
  object: array(holding({})),
});
const body = {
  gatewayName: "gateway-{unique}",
  productID: "{product.productID}",
  gatewayProtocol: 7,
  upLinkNetwork: 2,
  upLinkProtocol: 1,
  location: { row: 1 },
};
const own = { as: "own", call: "POST /gateways", body };

export const gatewayLines = lines("Gateways", [
  {
    says: "page of gateways",
    in: "AB",
    call: "GET /gateways?_page=1&_limit=5",
    status: 200,
    answer: page(gateway.listed),
  },
  { says: "detail", in: "AB", call: "GET /gateways/{gateway.id}", status: 200, answer: gateway.detail },
  {
    says: "labels of codes",
    in: "AB",
    call: "GET /gateways/{gateway.id}",
    status: 200,
    answer: both(
      both(labelled("gatewayProtocol", 1, "MQTT"), labelled("upLinkNetwork", 4, "Wi-Fi")),
      both(labelled("upLinkProtocol", 1, "MQTT"), labelled("authType", 1, "Token")),
    ),
  },
  {
    says: "uplink messages with gatewayName",
    in: "AB",
    call: "GET /gateways/{gateway.id}/events?_page=1&_limit=5",
    status: 200,
    answer: page(both(gatewayEvent, holding({ gatewayName: is("north") }))),
  },
  {
    says: "downlink messages with a structured payload",
    in: "AB",
    call: "GET /gateways/{gateway.id}/control_logs?_page=1&_limit=5",
    status: 200,
    answer: page(both(gatewayControlLog, holding({ payload: structured }))),
  },
  { says: "create", in: "AB", call: "POST /gateways", body, status: 201, answer: made(gateway.stored) },
  {
    says: "edit takes the record as read",
    in: "AB",
    given: [own, { as: "read", call: "GET /gateways/{own.id}" }],
    call: "PUT /gateways/{own.id}",
    body: { "...": "{read}", gatewayName: "renamed-{unique}" },
    status: 200,
    answer: edited(gateway.stored),
  },
  {
    says: "the devices of Variant A leave gateways out",
    in: "A",
    call: "GET /devices/{gateway.id}",
    status: 404,
    answer: holding({ errorCode: is("DATA_NOT_FOUND") }),
  },
  {
    says: "Variant B serves gateways as devices",
    in: "B",
    call: "GET /devices/{gateway.id}",
    status: 200,
    answer: both(holding({ deviceName: is("north") }), labelled("deviceType", 1, "网关")),
  },
]);
