import type { Change } from "../store/changes.js";
import { type DataPoint, dataPointsOf, kindOf } from "../store/data-points.js";
import { type DataStream, dataStreamsOf } from "../store/data-streams.js";
import { type Device, type DeviceStore, findDeviceByID, findDeviceByUsername } from "../store/devices.js";
import type { SeriesRef } from "../store/series.js";
import { fromJson } from "../store/table.js";
import {
  applyCertificateChange,
  type BoundCertificates,
  certificatesOf,
  readCertificateChange,
} from "./certificates.js";
import { type Converter, converters } from "./decode/values.js";

/** One data point as the decoder uses it. */
export interface PointEntry {
  readonly id: number;
  readonly dataPointID: string;
  readonly reportable: boolean;
  /** Microseconds since 1970. */
  readonly createdAt: number;
  readonly convert: Converter;
  readonly field: string;
  readonly kind: SeriesRef["kind"];
}

export interface StreamEntry {
  readonly binary: boolean;
  readonly points: ReadonlyMap<string, PointEntry>;
}

export interface ProductEntry {
  readonly id: number;
  /** Record ids of its data points and streams, which share one sequence. */
  readonly members: ReadonlySet<number>;
  readonly points: ReadonlyMap<string, PointEntry>;
  /** Uplink streams by topic. */
  readonly streams: ReadonlyMap<string, StreamEntry>;
}

/** A device as the way up uses it. All but `series` changes when the metadata does. */
export interface DeviceEntry {
  readonly id: number;
  device: Device;
  product: ProductEntry;
  certificates: BoundCertificates;
  /** The series of one of its data points; the same object each time. */
  series(point: PointEntry): SeriesRef;
}

/** The cache of devices and products that ingest works from, kept true by the change feed. */
export interface Directory {
  findByUsername(deviceUsername: string): Promise<DeviceEntry | undefined>;
  /** From memory only. */
  peek(id: number): DeviceEntry | undefined;
  get(id: number): Promise<DeviceEntry | undefined>;
  /** Applies one change of the feed. */
  apply(change: Change): Promise<void>;
  /** Called when a device is gone (undefined) or its row has changed. */
  onDevice(listener: (id: number, entry: DeviceEntry | undefined) => void): void;
  /** Entries in use are never evicted: a connection holds its device from CONNECT to its end. */
  hold(id: number): void;
  release(id: number): void;
}

export function createDirectory(store: DeviceStore, devicesMax: number): Directory {
  const devices = new Map<number, DeviceEntry>();
  const products = new Map<number, Promise<ProductEntry>>();
  const holds = new Map<number, number>();
  /** Counts the changes of devices that the feed has brought. */
  let generation = 0;
  const listeners: ((id: number, entry: DeviceEntry | undefined) => void)[] = [];

  function product(id: number): Promise<ProductEntry> {
    let entry = products.get(id);
    if (entry === undefined) {
      entry = loadProduct(store, id);
      entry.catch(() => products.delete(id));
      products.set(id, entry);
    }
    return entry;
  }

  /** The product last, for nothing may come between it and its use. */
  async function load(device: Device | undefined): Promise<Loaded | undefined> {
    if (device === undefined) return undefined;
    const certificates = await certificatesOf(store.db, device);
    return { device, certificates, loaded: await product(device.productIntID) };
  }

  function admit(found: Loaded | undefined): DeviceEntry | undefined {
    if (found === undefined) return undefined;
    const { device, certificates, loaded } = found;
    const known = devices.get(device.id);
    if (known !== undefined) {
      known.device = device;
      known.product = loaded;
      known.certificates = certificates;
      return known;
    }
    const entry = toEntry(device, loaded, certificates);
    devices.set(device.id, entry);
    if (devices.size > devicesMax) evict();
    return entry;
  }

  /** The oldest entries that no connection holds: insertion order is age enough. */
  function evict(): void {
    let surplus = devices.size - Math.floor(devicesMax * 0.9);
    for (const id of devices.keys()) {
      if (surplus <= 0) return;
      if (holds.has(id)) continue;
      devices.delete(id);
      surplus--;
    }
  }

  /** A row, and its product, read while the feed moved on may be older than what the feed brought: read again. */
  async function admitCurrent(read: () => Promise<Device | undefined>): Promise<DeviceEntry | undefined> {
    for (;;) {
      const begun = generation;
      const found = await load(await read());
      if (begun === generation) return admit(found);
    }
  }

  async function reloadDevice(id: number): Promise<void> {
    if (!devices.has(id)) return;
    const entry = admit(await load(await findDeviceByID(store, id)));
    if (entry === undefined) devices.delete(id);
    for (const listener of listeners) listener(id, entry);
  }

  async function reloadProduct(id: number): Promise<void> {
    if (!products.has(id)) return;
    products.delete(id);
    const loaded = await product(id);
    for (const entry of devices.values()) if (entry.device.productIntID === id) entry.product = loaded;
  }

  /** A created member names its product; an edited or deleted one is found among the loaded products. */
  async function reloadMember(change: Change): Promise<void> {
    const detail = fromJson<{ productIntID?: number }>(change.detail);
    if (detail?.productIntID !== undefined) return reloadProduct(detail.productIntID);
    for (const [id, loading] of [...products]) {
      if ((await loading).members.has(change.recordID)) return reloadProduct(id);
    }
  }

  /** A certificate may be bound to thousands of devices, so their rows are not read again. */
  async function reloadCertificate(change: Change): Promise<void> {
    generation++;
    const certificate = await readCertificateChange(store.db, change);
    for (const [i, id] of certificate.devices.entries()) {
      const entry = devices.get(id);
      if (entry !== undefined) {
        applyCertificateChange(entry.certificates, entry.device, certificate);
        for (const listener of listeners) listener(id, entry);
      }
      if (i % devicesPerTurn === devicesPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
    }
  }

  const appliers: Readonly<Record<string, (change: Change) => Promise<void>>> = {
    device: (change) => {
      if (change.action !== "create") generation++;
      return reloadDevice(change.recordID);
    },
    product: (change) => reloadProduct(change.recordID),
    data_point: reloadMember,
    data_stream: reloadMember,
    cert: reloadCertificate,
    cert_device: reloadCertificate,
  };

  return {
    findByUsername: (deviceUsername) => admitCurrent(() => findDeviceByUsername(store, deviceUsername)),
    peek: (id) => devices.get(id),
    get: async (id) => devices.get(id) ?? admitCurrent(() => findDeviceByID(store, id)),
    apply: async (change) => appliers[change.entity]?.(change),
    onDevice: (listener) => {
      listeners.push(listener);
    },
    hold: (id) => {
      holds.set(id, (holds.get(id) ?? 0) + 1);
    },
    release: (id) => {
      const count = (holds.get(id) ?? 1) - 1;
      if (count > 0) holds.set(id, count);
      else holds.delete(id);
    },
  };
}

/** One device with all that its entry is made of. */
interface Loaded {
  readonly device: Device;
  readonly certificates: BoundCertificates;
  readonly loaded: ProductEntry;
}

/** Devices whose connections are looked at in one turn of the loop. */
const devicesPerTurn = 200;

function toEntry(device: Device, product: ProductEntry, certificates: BoundCertificates): DeviceEntry {
  const series = new Map<number, SeriesRef>();
  return {
    id: device.id,
    device,
    product,
    certificates,
    series: (point) => {
      let found = series.get(point.id);
      // The kind may not change within a field, so a reference stays good for the life of the data point.
      if (found === undefined) {
        found = {
          tenant: device.tenant,
          productID: device.productID,
          deviceID: device.deviceID,
          field: point.field,
          kind: point.kind,
        };
        series.set(point.id, found);
      }
      return found;
    },
  };
}

async function loadProduct(store: DeviceStore, id: number): Promise<ProductEntry> {
  const points = (await dataPointsOf(store.db, id)).map(toPointEntry);
  const byID = new Map(points.map((point) => [point.id, point]));
  const all = await dataStreamsOf(store.db, id);
  const streams = all.filter((stream) => stream.streamType % 2 === 1);
  return {
    id,
    members: new Set([...points.map((point) => point.id), ...all.map((stream) => stream.id)]),
    points: new Map(points.map((point) => [point.dataPointID, point])),
    streams: new Map(streams.map((stream) => [stream.topic, toStreamEntry(stream, byID)])),
  };
}

function toPointEntry(point: DataPoint): PointEntry {
  const convert = converters.get(point.pointDataType);
  if (convert === undefined) throw new Error(`no converter for pointDataType ${point.pointDataType}`);
  return {
    id: point.id,
    dataPointID: point.dataPointID,
    reportable: point.dataTransType !== 2,
    createdAt: point.createAt * 1000,
    convert,
    field: point.field,
    kind: kindOf(point.pointDataType),
  };
}

function toStreamEntry(stream: DataStream, points: ReadonlyMap<number, PointEntry>): StreamEntry {
  const members = stream.dataPoints.flatMap((id) => points.get(id) ?? []);
  return {
    binary: stream.streamDataType === 2,
    points: new Map(members.map((point) => [point.dataPointID, point])),
  };
}
