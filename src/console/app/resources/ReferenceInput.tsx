/** A field that names another record, which is searched on the server by its name. */
import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { call, type Page } from "../api.js";
import { useDebounced } from "../debounced.js";
import { useQuery } from "../query.js";
import type { Reference, Row } from "./resources.js";

interface ReferenceInputProps {
  /** Attributes of the input. */
  readonly shared: object;
  /** The value that the field has. */
  readonly text: string;
  readonly reference: Reference;
  readonly within: Readonly<Record<string, string | number>>;
  onText(text: string): void;
}

const foundMax = 20;
/** Somebody who types is asked for when he rests. */
const restMs = 120;

export function ReferenceInput({ shared, text, reference, within, onText }: ReferenceInputProps) {
  const { path, value, label } = reference;
  const list = useId();
  /** The typed text that names no record yet; null: the field's value. */
  const typed = useSignal<string | null>(null);
  // A chosen text ends with the value, which is no part of the name.
  const search = useDebounced((typed.value ?? "").replace(/ \([^()]*\)$/, ""), restMs);
  // Data points are looked for among those of the product.
  const ofProduct =
    path === "/data_points" && within.productID !== undefined ? { productID: within.productID } : {};
  const scope = reference.scope ?? ofProduct;
  const found = useQuery(`${path} ${JSON.stringify(scope)} ${search}`, (signal) =>
    call<Page<Row>>("GET", path, {
      query: { ...scope, [`${label}_like`]: search, _limit: foundMax },
      signal,
    }),
  );
  const items = found.data?.items ?? [];
  const nameRow = (row: Row): string => `${String(row[label])} (${String(row[value])})`;
  // A name that was typed before it was found is chosen when it is.
  const late = typed.value === null ? undefined : items.find((row) => nameRow(row) === typed.value);
  useEffect(() => {
    if (late !== undefined) choose(late);
  }, [late]);
  const isPresent = (row: Row): boolean => String(row[value]) === text;
  const listed = items.find(isPresent);
  const isUnknown = found.data !== undefined && listed === undefined && typed.value === null && text !== "";
  const own = useQuery(isUnknown ? `${path} ${value} ${text}` : null, (signal) =>
    call<Page<Row>>("GET", path, { query: { [value]: text, _limit: 1 }, signal }),
  );
  const present = listed ?? own.data?.items.find(isPresent);
  const reported = useRef(text);
  // With the drawing, not after it: by then more may have been typed, which is no change by somebody else.
  useLayoutEffect(() => {
    // Changed by somebody else, by an undo for instance: what was being typed is over.
    if (text !== reported.current) typed.value = null;
    reported.current = text;
  }, [text]);
  function report(now: string): void {
    reported.current = now;
    onText(now);
  }
  function choose(row: Row): void {
    typed.value = null;
    report(String(row[value]));
  }
  return (
    <>
      <input
        {...shared}
        list={list}
        autocomplete="off"
        value={typed.value ?? (present === undefined ? text : nameRow(present))}
        onInput={(event) => {
          const now = event.currentTarget.value;
          const match = items.find((row) => nameRow(row) === now);
          if (match !== undefined) return choose(match);
          typed.value = now;
          report(now.trim());
        }}
      />
      <datalist id={list}>
        {items.map((row) => (
          <option key={row.id} value={nameRow(row)} />
        ))}
      </datalist>
    </>
  );
}
