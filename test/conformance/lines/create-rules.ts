import { device } from "../fixture.js";
import { both, error, type Form, holding, is, nothing } from "../form.js";
import { type Body, type Line, lines } from "../line.js";
import { device as forms, made } from "../records.js";

const id = "rule-{unique}";
const own = { as: "own", call: "POST /devices", body: device("own-{unique}") };

/** A create in Variant A that must be taken. */
function takes(says: string, body: object, answer: Form = made(forms.stored)): Line {
  return { says, in: "A", call: "POST /devices", body, status: 201, answer };
}

/** A create in Variant A that must be refused for this field. */
function refuses(says: string, body: object, ...fields: readonly string[]): Line {
  const answer = error("PARAMETER_INVALID", ...fields);
  return { says, in: "A", call: "POST /devices", body, status: 400, answer };
}

/** One line for each required field: null in its place is refused by its name. */
function requires(says: string, body: object, fields: readonly string[]): Line[] {
  return fields.map((field) => refuses(`${says} requires ${field}`, { ...body, [field]: null }, field));
}

function requiresLora(says: string, body: { readonly lora: Body }, members: readonly string[]): Line[] {
  return members.map((member) => ({
    ...refuses(`${says} requires lora.${member}`, { ...body, lora: { ...body.lora, [member]: null } }),
    answer: error("PARAMETER_INVALID"),
  }));
}

const modbus = device(id, { productID: "{modbus.productID}", cloudProtocol: 7, modBusIndex: 1 });
const lwm2m = device(id, {
  productID: "{lwm2m.productID}",
  cloudProtocol: 3,
  IMEI: "86{unique}",
  autoSub: 1,
});
const lora = { productID: "{lora.productID}", cloudProtocol: 4, authType: undefined };
const otaa = {
  ...device("00112233445566a1", lora),
  lora: {
    type: "otaa",
    appEUI: "0011223344556677",
    appKey: "00112233445566770011223344556677",
    fcntCheck: 1,
    canJoin: 1,
  },
};
const abp = {
  ...device("0011aa01", { ...lora, gateway: "{gateway.id}" }),
  lora: {
    type: "abp",
    region: "EU863-870",
    nwkSKey: "00112233445566770011223344556677",
    appSKey: "00112233445566770011223344556677",
    fcntUp: 0,
    fcntDown: 0,
    fcntCheck: 0,
  },
};
const always = ["productID", "deviceName", "deviceType", "upLinkSystem", "deviceID", "cloudProtocol"];

export const createRuleLines = lines("Field rules for create and edit", [
  ...requires("every device", device(id), always),
  // Rule 1
  takes("1: Modbus with modBusIndex", { ...modbus, modBusIndex: "200" }, holding({ modBusIndex: is(200) })),
  takes("1: modBuxIndex is another spelling", { ...modbus, modBusIndex: undefined, modBuxIndex: 201 }),
  refuses("1: Modbus without modBusIndex", { ...modbus, modBusIndex: null }, "modBusIndex"),
  takes("modBusIndex 0", { ...modbus, modBusIndex: 0 }),
  takes("modBusIndex 255", { ...modbus, modBusIndex: 255 }),
  refuses("modBusIndex 256", { ...modbus, modBusIndex: 256 }, "modBusIndex"),
  refuses("modBusIndex -1", { ...modbus, modBusIndex: -1 }, "modBusIndex"),
  {
    ...refuses("modBusIndex is unique among siblings", { ...modbus, modBusIndex: 77 }),
    given: [{ as: "sibling", call: "POST /devices", body: { ...modbus, modBusIndex: 77 } }],
    answer: error("DATA_EXISTED"),
  },
  // Rule 2
  takes(
    "2: deviceType 3 without upLinkSystem",
    device(id, { deviceType: 3, upLinkSystem: undefined }),
    both(made(forms.stored), holding({ deviceType: is(3), upLinkSystem: nothing })),
  ),
  refuses("2: deviceType 3 with upLinkSystem", device(id, { deviceType: 3 }), "upLinkSystem"),
  refuses("2: deviceType 1 without upLinkSystem", device(id, { upLinkSystem: undefined }), "upLinkSystem"),
  {
    says: "2: the same on edit",
    in: "A",
    given: [own],
    call: "PUT /devices/{own.id}",
    body: { deviceType: 3, upLinkSystem: 1 },
    status: 400,
    answer: error("PARAMETER_INVALID", "upLinkSystem"),
  },
  // Rule 3
  takes("3: upLinkSystem 2 with a gateway", device(id, { upLinkSystem: 2, gateway: "{gateway.id}" })),
  refuses("3: without", device(id, { upLinkSystem: 2 }), "gateway"),
  refuses("3: with no gateway's id", device(id, { upLinkSystem: 2, gateway: "{device.id}" }), "gateway"),
  // Rules 4 and 5
  takes(
    "4: upLinkSystem 3 with a parent; its name in the answer",
    device(id, { upLinkSystem: 3, parentDevice: "{device.id}" }),
    both(made(forms.stored), holding({ parentDeviceName: is("name of bench-1") })),
  ),
  refuses("4: without", device(id, { upLinkSystem: 3 }), "parentDevice"),
  refuses("4: with no device's id", device(id, { upLinkSystem: 3, parentDevice: 999999 }), "parentDevice"),
  {
    says: "5: a child is edited like others, but keeps a parent",
    in: "A",
    call: "PUT /devices/{child.id}",
    body: { parentDevice: null },
    status: 400,
    answer: error("PARAMETER_INVALID", "parentDevice"),
  },
  // Rule 6
  refuses("6: MQTT requires authType", device(id, { authType: undefined }), "authType"),
  refuses(
    "6: CoAP requires authType",
    device(id, { productID: "{coap.productID}", cloudProtocol: 2, authType: undefined }),
    "authType",
  ),
  takes("6: LwM2M", lwm2m, holding({ autoSub: is(1) })),
  ...requires("6: LwM2M", lwm2m, ["IMEI", "autoSub"]),
  takes(
    "6: LoRa otaa",
    otaa,
    holding({ deviceID: is("00112233445566a1"), lora: holding({ type: is("otaa") }) }),
  ),
  ...requiresLora("6: LoRa otaa", otaa, ["type", "appEUI", "appKey", "fcntCheck", "canJoin"]),
  takes("6: LoRa abp", abp, holding({ deviceID: is("0011aa01"), lora: holding({ type: is("abp") }) })),
  refuses("6: LoRa abp requires gateway", { ...abp, gateway: null }, "gateway"),
  ...requiresLora("6: LoRa abp", abp, [
    ...["type", "region", "nwkSKey", "appSKey", "fcntUp", "fcntDown", "fcntCheck"],
  ]),
  refuses("6: Modbus requires authType", { ...modbus, modBusIndex: 9, authType: undefined }, "authType"),
  refuses("a product that is none", device(id, { productID: "nosuch" }), "productID"),
  refuses("a protocol that is not the product's", device(id, { cloudProtocol: 2 }), "cloudProtocol"),
]);
