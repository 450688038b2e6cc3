/** A device, found by a part of its id or its name. */
import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { call, type Page } from "../api.js";
import { useDebounced } from "../debounced.js";
import { useQuery } from "../query.js";

interface DeviceInputProps {
  readonly label: string;
  /** Restricts the devices that are offered, to a product for instance. */
  readonly within?: Readonly<Record<string, string | number>>;
  /** The deviceID that is chosen already; it stays in the field. Absent: the field is emptied after a choice. */
  readonly value?: string;
  onDevice(deviceID: string): void;
}

interface DeviceRow {
  readonly id: number;
  readonly deviceID: string;
  readonly deviceName: string;
}

const suggestions = 10;
/** Somebody who types is asked for when he rests. */
const restMs = 120;

/** Those whose id has the text come first, then those whose name has it. */
async function devicesLike(
  text: string,
  within: Readonly<Record<string, string | number>>,
  signal: AbortSignal,
): Promise<readonly DeviceRow[]> {
  const fields = text === "" ? ["deviceID_like"] : ["deviceID_like", "deviceName_like"];
  const pages = await Promise.all(
    fields.map((field) =>
      call<Page<DeviceRow>>("GET", "/devices", {
        query: { ...within, [field]: text, _limit: suggestions },
        signal,
      }),
    ),
  );
  const byID = new Map(pages.flatMap(({ items }) => items).map((device) => [device.deviceID, device]));
  return [...byID.values()].slice(0, suggestions);
}

export function DeviceInput({ label, within = {}, value, onDevice }: DeviceInputProps) {
  const list = useId();
  const typed = useSignal(value ?? "");
  useEffect(() => {
    if (value !== undefined) typed.value = value;
  }, [value]);
  const rested = useDebounced(typed.value, restMs);
  const found = useQuery(JSON.stringify([within, rested]), (signal) => devicesLike(rested, within, signal));
  const items = found.data ?? [];
  function choose(text: string): void {
    const named = items.filter(({ deviceName }) => deviceName === text.trim());
    // A name that only one of them has means that one.
    const deviceID = named.length === 1 && named[0] !== undefined ? named[0].deviceID : text.trim();
    if (deviceID === "" || deviceID === value) return;
    onDevice(deviceID);
    typed.value = value === undefined ? "" : deviceID;
  }
  /** A half typed text stays as it is. */
  function chooseKnown(text: string): void {
    if (items.some(({ deviceID }) => deviceID === text)) choose(text);
  }
  return (
    <label class="row tight named">
      <span class="muted">{label}</span>
      <input
        class="input device"
        list={list}
        autocomplete="off"
        value={typed.value}
        onInput={(event) => {
          const text = event.currentTarget.value;
          typed.value = text;
          // A suggestion that was clicked on is a choice.
          if (!(event instanceof InputEvent)) chooseKnown(text);
        }}
        onKeyDown={(event) => {
          if (event.key !== "Enter") return;
          event.preventDefault();
          choose(event.currentTarget.value);
        }}
        onChange={(event) => chooseKnown(event.currentTarget.value)}
      />
      <datalist id={list}>
        {items.map(({ id, deviceID, deviceName }) => (
          <option key={id} value={deviceID}>
            {deviceName}
          </option>
        ))}
      </datalist>
    </label>
  );
}
