/** The place of a device in degrees: typed here, or clicked on the map. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { language, t } from "../i18n.js";
import { fieldNames } from "../texts/fields.js";
import type { LngLat } from "./places.js";
import { placeText } from "./places.js";

interface PlaceFormProps {
  readonly id: number;
  readonly place: LngLat | null;
  readonly draft: LngLat | null;
  readonly mayWrite: boolean;
  onDraft(place: LngLat | null): void;
  onSaved(): void;
}

type Axis = "latitude" | "longitude";
const axes: readonly Axis[] = ["latitude", "longitude"];
const digits = 6;

export function PlaceForm({ id, place, draft, mayWrite, onDraft, onSaved }: PlaceFormProps) {
  /** The typed text that is not on the map yet. */
  const typed = useSignal<Readonly<Partial<Record<Axis, string>>>>({});
  const failure = useSignal<ApiFailure | null>(null);
  const isSaving = useSignal(false);
  const shown = draft ?? place;
  const formatAxis = (axis: Axis): string => {
    const degrees = axis === "longitude" ? shown?.[0] : shown?.[1];
    return typed.value[axis] ?? (degrees === undefined ? "" : String(Number(degrees.toFixed(digits))));
  };
  function type(axis: Axis, text: string): void {
    typed.value = { ...typed.value, [axis]: text };
    const [latitude, longitude] = axes.map((one) => parseCoordinate(formatAxis(one)));
    if (latitude == null || longitude == null || Math.abs(latitude) > 90 || Math.abs(longitude) > 180) return;
    onDraft([longitude, latitude]);
  }
  async function save(body: Readonly<Record<Axis, number | string | null>>): Promise<void> {
    isSaving.value = true;
    failure.value = null;
    try {
      await call("PUT", `/devices/${id}/location`, { body });
      typed.value = {};
      onDraft(null);
      onSaved();
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      failure.value = error;
    } finally {
      isSaving.value = false;
    }
  }
  const isChanged = draft !== null || Object.keys(typed.value).length > 0;
  const named = fieldNames(language.value);
  return (
    <section class="form">
      <h2>{t("place.where")}</h2>
      {!mayWrite && <p class="mono">{place === null ? "–" : placeText(place[1], place[0])}</p>}
      {mayWrite && (
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault();
            const [latitude, longitude] = axes.map(
              (axis) => parseCoordinate(formatAxis(axis)) ?? formatAxis(axis),
            );
            void save({ latitude: latitude ?? null, longitude: longitude ?? null });
          }}
        >
          <div class="place-pair">
            {axes.map((axis) => (
              <label key={axis} class="field">
                <span class="name">{named(axis)}</span>
                <input
                  class="input mono"
                  inputMode="decimal"
                  autocomplete="off"
                  value={formatAxis(axis)}
                  aria-invalid={failure.value?.fields[axis] !== undefined}
                  onInput={(event) => type(axis, event.currentTarget.value)}
                />
                {failure.value?.fields[axis] !== undefined && (
                  <span class="fault" role="alert">
                    {failure.value.fields[axis]}
                  </span>
                )}
              </label>
            ))}
          </div>
          {failure.value !== null && Object.keys(failure.value.fields).length === 0 && (
            <p class="notice bad" role="alert">
              {t("state.failed", { reason: failure.value.message })}
            </p>
          )}
          <p class="row">
            <button type="submit" class="button main" disabled={!isChanged || isSaving.value}>
              {t("place.save")}
            </button>
            {isChanged && (
              <button
                type="button"
                class="button"
                onClick={() => {
                  typed.value = {};
                  failure.value = null;
                  onDraft(null);
                }}
              >
                {t("action.cancel")}
              </button>
            )}
            {!isChanged && place !== null && (
              <button
                type="button"
                class="button quiet"
                disabled={isSaving.value}
                onClick={() => void save({ latitude: null, longitude: null })}
              >
                {t("place.remove")}
              </button>
            )}
          </p>
          <p class="muted">{t("place.hint")}</p>
        </form>
      )}
    </section>
  );
}

function parseCoordinate(text: string): number | null {
  const number = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(number) ? null : number;
}
