/** The filters of a list: each is in the URL. */
import { describeCode } from "../codes.js";
import { RecordInput } from "../dashboards/RecordInput.js";
import { language, t } from "../i18n.js";
import { TimeInput } from "../range/RangePicker.js";
import { resolveSpan } from "../range/range.js";
import { query, setQuery } from "../router.js";
import { shownZone } from "../shown.js";
import { fieldNames } from "../texts/fields.js";
import { Choice } from "./Choice.js";
import { filterParameter, listParameterNames } from "./filtering.js";
import type { Filter } from "./resources.js";

/** A changed filter begins at the first page, and is an entry of the browser's history. */
const applyFilters = (changes: Readonly<Record<string, string | undefined>>): void =>
  setQuery({ ...changes, page: undefined }, { replace: false });

export function Filters({ filters }: { readonly filters: readonly Filter[] }) {
  const names = listParameterNames(filters);
  const isFiltered = names.some((name) => (query.value[name] ?? "") !== "");
  return (
    <>
      {filters.map((one) => (
        <FilterInput key={one.kind === "time" ? "time" : one.field} filter={one} />
      ))}
      {isFiltered && (
        <button
          type="button"
          class="button quiet"
          onClick={() => applyFilters(Object.fromEntries(names.map((name) => [name, undefined])))}
        >
          {t("list.clear")}
        </button>
      )}
    </>
  );
}

function FilterInput({ filter }: { readonly filter: Filter }) {
  if (filter.kind === "time") return <TimeFilter />;
  const name = fieldNames(language.value)(filter.field);
  const parameter = filterParameter(filter);
  const value = query.value[parameter] ?? "";
  const choose = (chosen: string | undefined): void => applyFilters({ [parameter]: chosen });
  if (filter.kind === "code") {
    return (
      <Choice
        name={name}
        none={t("list.any", { field: name })}
        value={value}
        options={filter.codes.map((code) => ({
          value: String(code),
          text: describeCode(filter.field, code),
        }))}
        onChoice={choose}
      />
    );
  }
  if (filter.kind === "record") {
    const isDevice = filter.field === "deviceID";
    return (
      <RecordInput
        key={value}
        type={isDevice ? "device" : "product"}
        value={value}
        label={fieldNames(language.value)(isDevice ? "deviceIntID" : "productID")}
        onValue={choose}
      />
    );
  }
  return (
    <input
      class="input choice"
      type="search"
      placeholder={name}
      aria-label={name}
      value={value}
      onInput={(event) => setQuery({ [parameter]: event.currentTarget.value, page: undefined })}
    />
  );
}

const steps = ["-1h", "-24h", "-7d", "-30d"] as const;
const between = "between";

/** A step back from now, or from one time to another. */
function TimeFilter() {
  const { from, to } = query.value;
  const zone = shownZone();
  const isBetween = from !== undefined && to !== undefined;
  const span = isBetween ? resolveSpan({ start: from, end: to }, Date.now(), zone) : null;
  function choose(chosen: string | undefined): void {
    if (chosen !== between) return applyFilters({ from: chosen, to: undefined });
    const known = resolveSpan({ start: from ?? "-24h", end: "now" }, Date.now(), zone);
    if (known !== null)
      applyFilters({ from: String(Math.round(known.from)), to: String(Math.round(known.to)) });
  }
  return (
    <>
      <Choice
        name={fieldNames(language.value)("at")}
        none={t("list.anyTime")}
        value={isBetween ? between : from}
        options={[
          ...steps.map((step) => ({ value: step as string, text: t(`since.${step}`) })),
          { value: between, text: t("list.between") },
        ]}
        onChoice={choose}
      />
      {span !== null && (
        <>
          <TimeInput
            label={t("range.from")}
            zone={zone}
            time={span.from}
            onTime={(time) => applyFilters({ from: String(time) })}
          />
          <TimeInput
            label={t("range.to")}
            zone={zone}
            time={span.to}
            onTime={(time) => applyFilters({ to: String(time) })}
          />
        </>
      )}
    </>
  );
}
