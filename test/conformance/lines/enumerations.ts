import { device } from "../fixture.js";
import { error, holding, is } from "../form.js";
import { type Line, lines } from "../line.js";
import { labelled } from "../records.js";

/** A create body and the field in it whose codes are tried. */
interface Enumerated {
  readonly path: string;
  readonly field: string;
  readonly body: object;
  /** Code → label; a null label is a code without one. */
  readonly codes: Readonly<Record<number, string | null>>;
  readonly beyond: number;
}

const protocols = { 1: "MQTT", 2: "CoAP", 3: "LwM2M", 4: "LoRa", 5: "HTTP", 6: "WebSocket", 7: "Modbus" };
const ownDevice = device("code-{unique}");
const gateway = {
  gatewayName: "code-{unique}",
  productID: "{product.productID}",
  gatewayProtocol: 1,
  upLinkNetwork: 1,
  upLinkProtocol: 1,
};
const product = { productName: "code-{unique}", description: "d" };

const enumerated: readonly Enumerated[] = [
  { path: "/products", field: "cloudProtocol", body: product, codes: protocols, beyond: 8 },
  { path: "/gateways", field: "gatewayProtocol", body: gateway, codes: protocols, beyond: 0 },
  { path: "/gateways", field: "upLinkProtocol", body: gateway, codes: protocols, beyond: 8 },
  {
    path: "/gateways",
    field: "upLinkNetwork",
    body: gateway,
    codes: { 1: "2G", 2: "3G", 3: "4G", 4: "Wi-Fi", 5: "NB-IoT" },
    beyond: 6,
  },
  { path: "/devices", field: "authType", body: ownDevice, codes: { 1: "Token", 2: "证书" }, beyond: 3 },
  {
    path: "/devices",
    field: "carrier",
    body: ownDevice,
    codes: { 1: null, 2: null, 3: null, 4: null },
    beyond: 5,
  },
  {
    path: "/devices",
    field: "physicalNetwork",
    body: ownDevice,
    codes: { 1: null, 2: null, 3: null, 4: null, 5: null, 6: null },
    beyond: 7,
  },
  {
    path: "/certs",
    field: "enable",
    body: { name: "code-{unique}" },
    codes: { 0: null, 1: null },
    beyond: 2,
  },
];

function linesOf({ path, field, body, codes, beyond }: Enumerated): Line[] {
  const taken = Object.entries(codes).map(
    ([code, label]): Line => ({
      says: `${field} ${code}${label === null ? "" : ` is ${label}`}`,
      in: "A",
      given: [{ as: "own", call: `POST ${path}`, body: { ...body, [field]: Number(code) } }],
      call: `GET ${path}/{own.id}`,
      status: 200,
      answer: label === null ? holding({ [field]: is(Number(code)) }) : labelled(field, Number(code), label),
    }),
  );
  const refused: Line = {
    says: `${field} ${beyond} is none`,
    in: "A",
    call: `POST ${path}`,
    body: { ...body, [field]: beyond },
    status: 400,
    answer: error("PARAMETER_INVALID", field),
  };
  return [...taken, refused];
}

const kinds = [
  [0, "终端"],
  [1, "网关"],
  [2, "智能手机"],
] as const;

export const enumerationLines = lines("Enumerations", [
  ...enumerated.flatMap(linesOf),
  {
    says: "deviceType 3 is 智能手机",
    in: "A",
    given: [
      { as: "own", call: "POST /devices", body: { ...ownDevice, deviceType: 3, upLinkSystem: undefined } },
    ],
    call: "GET /devices/{own.id}",
    status: 200,
    answer: labelled("deviceType", 3, "智能手机"),
  },
  ...kinds.map(
    ([code, label]): Line => ({
      says: `deviceType ${code} is ${label}`,
      in: "B",
      given: [
        {
          as: "own",
          call: "POST /devices",
          body: {
            deviceName: "code-{unique}",
            productID: "{product.productID}",
            deviceType: code,
            authType: 1,
          },
          headers: { "Api-Variant": "B" },
        },
      ],
      call: "GET /devices/{own.id}",
      status: 200,
      answer: labelled("deviceType", code, label),
    }),
  ),
  {
    says: "deviceType 3 is none",
    in: "B",
    call: "POST /devices",
    body: { deviceName: "code-{unique}", productID: "{product.productID}", deviceType: 3, authType: 1 },
    status: 400,
    answer: error("PARAMETER_INVALID", "deviceType"),
  },
  ...([0, 1] as const).map(
    (blocked): Line => ({
      says: `blocked ${blocked} on edit`,
      in: "AB",
      given: [{ as: "own", call: "POST /devices", body: ownDevice }],
      call: "PUT /devices/{own.id}",
      body: { blocked },
      status: 200,
      answer: holding({ blocked: is(blocked) }),
    }),
  ),
]);
