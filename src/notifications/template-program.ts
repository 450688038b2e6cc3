/** The program that renders templates in the sandbox: liquidjs, unmodified, and what it needs around it. */
import { createHash, createHmac } from "node:crypto";
import type { SandboxProgram } from "../../ingest/sandbox/sandbox.js";
import { zone } from "../../query/zone.js";
import { abbreviatedPlace } from "../../store/time-zones/abbreviations.js";
import { liquidScript } from "./liquid-script.js";

/** Bytes; liquidjs itself takes 4 MB of them. */
const memoryBytesMax = 32 * 2 ** 20;

/** What liquidjs asks of a browser and the engine lacks; dates are written as in the United States, liquidjs's default. */
const surroundings = `
const bytesOf = (binary) => Uint8Array.from(binary, (byte) => byte.charCodeAt(0));
globalThis.atob = (text) => recodeText(text, "base64", "latin1");
globalThis.btoa = (binary) => recodeText(binary, "latin1", "base64");
globalThis.TextEncoder = class {
  encode(text) {
    return bytesOf(recodeText(text, "utf8", "latin1"));
  }
};
globalThis.TextDecoder = class {
  decode(bytes) {
    return recodeText(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""), "latin1", "utf8");
  }
};
const padded = (number) => String(number).padStart(2, "0");
const defineOnDates = (name, format) => {
  Date.prototype[name] = format;
};
defineOnDates("toLocaleDateString", function () {
  return this.getMonth() + 1 + "/" + this.getDate() + "/" + this.getFullYear();
});
defineOnDates("toLocaleTimeString", function () {
  const hours = this.getHours();
  const minutes = padded(this.getMinutes()) + ":" + padded(this.getSeconds());
  return (hours % 12 || 12) + ":" + minutes + (hours < 12 ? " AM" : " PM");
});
// liquidjs asks for the wall clock of a zone in this way.
defineOnDates("toLocaleString", function (locale, options) {
  const zone = options?.timeZone;
  const time = this.getTime();
  const shift = zone === undefined ? 0 : zoneOffset(zone, time) + this.getTimezoneOffset() * 60000;
  const date = new Date(time + shift);
  return date.toLocaleDateString() + ", " + date.toLocaleTimeString();
});
`;

/** Hashes are promises in browsers, which a template cannot wait for. */
const entry = `
const textOf = (value) => (Array.isArray(value) ? value.map(textOf).join("") : String(value ?? ""));
globalThis.render = ({ template, document, timezone }) => {
  const liquid = new liquidjs.Liquid({
    templates: {},
    ownPropertyOnly: true,
    locale: "en-US",
    timezoneOffset: timezone,
  });
  liquid.registerFilter("sha256", (value) => hashText(textOf(value)));
  liquid.registerFilter("hmac_sha256", (value, key) => hashText(textOf(value), textOf(key)));
  return String(liquid.parseAndRenderSync(template, document));
};
`;

export const templateProgram: SandboxProgram = {
  scripts: [
    { name: "surroundings.js", text: surroundings },
    { name: "liquid.js", text: liquidScript },
    { name: "entry.js", text: entry },
  ],
  hostFunctions: {
    hashText: (text, key) => {
      const hash = key === undefined ? createHash("sha256") : createHmac("sha256", String(key));
      return hash.update(String(text), "utf8").digest("hex");
    },
    recodeText: (text, from, to) =>
      Buffer.from(String(text), from as BufferEncoding).toString(to as BufferEncoding),
    zoneOffset: (name, time) => {
      if (!Number.isFinite(time)) return 0;
      // A template may be older than the rule that abbreviations are no zones.
      return zone(abbreviatedPlace(String(name)) ?? String(name)).offsetAt(time as number);
    },
  },
  memoryBytesMax,
};
