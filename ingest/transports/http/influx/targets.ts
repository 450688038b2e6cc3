/** Where lines belong: which device, which topic, and which of its data points. */
import type { Directory } from "../../../directory/directory.js";
import type { DeviceEntry } from "../../../directory/entries.js";
import { readHead } from "./line-protocol.js";
import { showText } from "./shown.js";

/** What all lines with the same measurement and tags have in common. */
export interface WriteTarget {
  readonly topic: string;
  /** deviceID of a device below the one that writes; null: the writing one itself. */
  readonly child: string | null;
  key(field: string): Key;
}

/** The data point of a field. */
interface Key {
  /** `"dataPointID":`, as JSON. */
  readonly json: string;
  readonly last: LastValue;
}

/** The value that the request gave the data point last; shared by all targets that have the point. */
interface LastValue {
  target: WriteTarget | null;
  time: string;
}

/** The tag that names a device below a gateway. */
const deviceTag = "device";

interface Targets {
  /** From what is known already; undefined: it has to be looked up. */
  known(head: string): WriteTarget | string | undefined;
  /** A text says why there is none. */
  find(head: string): Promise<WriteTarget | string>;
}

/** @param writer the device whose credentials the request has */
export function createWriteTargets(
  writer: DeviceEntry,
  directory: Pick<Directory, "below" | "get">,
): Targets {
  const found = new Map<string, WriteTarget | string>();
  const lasts = new Map<string, LastValue>();
  /** Entries of all maps of the request together. */
  let remembered = 0;

  function remember<Value>(values: Map<string, Value>, name: string, value: Value): void {
    if (remembered >= rememberedMax || values.has(name)) return;
    remembered++;
    values.set(name, value);
  }

  async function make(head: string): Promise<WriteTarget | string> {
    const read = readHead(head);
    if (read === null) return "has a measurement or a tag that cannot be read";
    const { measurement } = read;
    const named = read.tags.find(([key]) => key === deviceTag)?.[1];
    const device = await findWriteDevice(named);
    if (typeof device === "string") return device;
    const isNamed = device !== writer || named === writer.device.deviceID;
    const tags = read.tags.filter(([key]) => !(isNamed && key === deviceTag));
    const pointName = pointNames(device, measurement, tags);
    const keys = new Map<string, Key>();
    const target: WriteTarget = {
      topic: measurement,
      child: device === writer ? null : device.device.deviceID,
      key: (field) => {
        const known = keys.get(field);
        if (known !== undefined) return known;
        const id = pointName(field);
        const name = `${device.id} ${id}`;
        const last = lasts.get(name) ?? { target: null, time: "" };
        const key = { json: `${JSON.stringify(id)}:`, last };
        remember(lasts, name, last);
        remember(keys, field, key);
        return key;
      },
    };
    return target;
  }

  /**
   * A gateway must name a device of its own; for others the tag is one like any other. What hangs below the writer is
   * known at once, so that a name which is none of its own, however many a request has, costs no look-up.
   */
  async function findWriteDevice(named: string | undefined): Promise<DeviceEntry | string> {
    if (named === undefined || named === writer.device.deviceID) return writer;
    const id = (await directory.below(writer.id)).get(named);
    const entry = id === undefined ? undefined : await directory.get(id);
    if (entry !== undefined) return entry;
    return writer.device.isGateway
      ? `names the device ${showText(named)}, which is none of the gateway's`
      : writer;
  }

  return {
    known: (head) => found.get(head),
    find: async (head) => {
      const target = await make(head);
      if (found.size < targetsMax) remember(found, head, target);
      return target;
    },
  };
}

/** Different measurements and tags of one request that are remembered. */
const targetsMax = 10_000;
/** They and their fields: beyond, what overwrites another value is not noticed. */
const rememberedMax = 100_000;
/** No data point has a longer id. */
const pointIDMax = 64;

/**
 * The data point that a field is: the first of these that the product has, with measurement `m`, field `f` and the
 * values of the tags `t`, in the order of their keys: `m_f_t`, `f_t`, `m_f`, `f`. If it has none of them, `f`.
 */
function pointNames(
  { product: { points } }: DeviceEntry,
  measurement: string,
  tags: readonly (readonly [string, string])[],
): (field: string) => string {
  const ordered = [...tags].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
  const before = `${cleaned(measurement)}_`;
  const after = `_${cleaned(ordered.join("_"))}`;
  const forms = ordered.length === 0 ? [] : [[before, after] as const, ["", after] as const];
  return (field) => {
    if (field.length > pointIDMax) return field;
    const own = cleaned(field);
    for (const [first, last] of [...forms, [before, ""] as const]) {
      const isShort = first.length + own.length + last.length <= pointIDMax;
      if (isShort && points.has(first + own + last)) return first + own + last;
    }
    return field;
  };
}

function cleaned(part: string): string {
  return part.replaceAll(/[^A-Za-z0-9_.:-]/g, "_");
}
