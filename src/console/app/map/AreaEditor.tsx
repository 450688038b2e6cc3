/** The areas that a device must not leave or enter: listed, drawn and taken away. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import type { Sketch } from "./Areas.js";
import { fetchPlaced, type Scope } from "./placed-device.js";
import { lengthText } from "./track.js";

interface AreaEditorProps {
  readonly id: number;
  readonly scopes: readonly Scope[];
  readonly sketch: Sketch | null;
  readonly mayWrite: boolean;
  onSketch(sketch: Sketch | null): void;
  onSaved(): void;
}

const shapes = ["polygon", "circle"] as const;
const types = [1, 2] as const;
const cornersMin = 3;

export function AreaEditor({ id, scopes, sketch, mayWrite, onSketch, onSaved }: AreaEditorProps) {
  const failure = useSignal<ApiFailure | null>(null);
  /** @returns whether it has been saved */
  async function change(edit: (present: readonly Scope[]) => readonly Scope[]): Promise<boolean> {
    failure.value = null;
    try {
      // Somebody else may have changed them since.
      const { scopes: present } = await fetchPlaced(id, new AbortController().signal);
      await call("PUT", `/devices/${id}`, { body: { scopes: edit(present) } });
      onSaved();
      return true;
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      failure.value = error;
      return false;
    }
  }
  return (
    <section class="form">
      <h2>{t("area.title")}</h2>
      {scopes.length === 0 && <p class="muted">{t("area.none")}</p>}
      <ul class="place-list">
        {scopes.map((scope) => (
          <li key={JSON.stringify(scope)}>
            <span class="cut" title={scope.scopeName}>
              {scope.scopeName}
            </span>
            {mayWrite && <RemoveButton name={scope.scopeName} onSure={() => void change(without(scope))} />}
            <span class={`muted area-kind ${scope.scopeType === 2 ? "forbidden" : "allowed"}`}>
              {t(`scope.${scope.scopeType}`)}
              {"radius" in scope && `, ${lengthText(scope.radius)}`}
            </span>
          </li>
        ))}
      </ul>
      {mayWrite && sketch === null && (
        <p class="row">
          {shapes.map((shape) => (
            <button
              key={shape}
              type="button"
              class="button"
              onClick={() => onSketch({ shape, corners: [], radius: 0 })}
            >
              {t(`draw.${shape}`)}
            </button>
          ))}
        </p>
      )}
      {sketch !== null && (
        <SketchForm
          sketch={sketch}
          onSketch={onSketch}
          onSave={async (scope) => {
            if (await change((present) => [...present, scope])) onSketch(null);
          }}
        />
      )}
      {failure.value !== null && (
        <p class="notice bad" role="alert">
          {t("state.failed", { reason: explainAreaFailure(failure.value) })}
        </p>
      )}
    </section>
  );
}

const without = (scope: Scope) => (present: readonly Scope[]) => {
  const gone = present.findIndex((one) => JSON.stringify(one) === JSON.stringify(scope));
  return present.filter((_, i) => i !== gone);
};

function explainAreaFailure({ message, fields }: ApiFailure): string {
  const texts = Object.values(fields);
  return texts.length === 0 ? message : texts.join("; ");
}

function RemoveButton({ name, onSure }: { readonly name: string; onSure(): void }) {
  const isAsked = useSignal(false);
  return (
    <button
      type="button"
      class={`button ${isAsked.value ? "danger" : "quiet"}`}
      aria-label={`${t("action.delete")}: ${name}`}
      onClick={() => {
        if (isAsked.value) onSure();
        isAsked.value = !isAsked.value;
      }}
      onBlur={() => {
        isAsked.value = false;
      }}
    >
      {t(isAsked.value ? "area.sure" : "action.delete")}
    </button>
  );
}

interface SketchFormProps {
  readonly sketch: Sketch;
  onSketch(sketch: Sketch | null): void;
  onSave(scope: Scope): Promise<void>;
}

function SketchForm({ sketch, onSketch, onSave }: SketchFormProps) {
  const name = useSignal("");
  const type = useSignal<1 | 2>(1);
  const isSaving = useSignal(false);
  const { shape, corners, radius } = sketch;
  const [center] = corners;
  const isWhole = shape === "circle" ? center !== undefined && radius > 0 : corners.length >= cornersMin;
  async function save(): Promise<void> {
    const common = { scopeType: type.value, scopeName: name.value.trim() };
    isSaving.value = true;
    if (shape === "polygon") await onSave({ ...common, points: corners });
    else if (center !== undefined) await onSave({ ...common, center, radius });
    isSaving.value = false;
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <p class="notice" role="status">
        {t(`corners.${shape}`, { count: corners.length })}
      </p>
      <label class="field">
        <span class="name">{t("area.name")}</span>
        <input
          class="input"
          value={name.value}
          onInput={(event) => {
            name.value = event.currentTarget.value;
          }}
        />
      </label>
      <label class="field">
        <span class="name">{t("area.type")}</span>
        <select
          class="input"
          value={type.value}
          onChange={(event) => {
            type.value = event.currentTarget.value === "2" ? 2 : 1;
          }}
        >
          {types.map((one) => (
            <option key={one} value={one}>
              {t(`scope.${one}`)}
            </option>
          ))}
        </select>
      </label>
      {shape === "circle" && (
        <label class="field">
          <span class="name">{t("area.radius")}</span>
          <input
            class="input mono"
            type="number"
            min={1}
            max={20_100_000}
            step="any"
            value={radius || ""}
            onInput={(event) =>
              onSketch({ ...sketch, radius: Math.max(0, event.currentTarget.valueAsNumber || 0) })
            }
          />
        </label>
      )}
      <p class="row">
        <button
          type="submit"
          class="button main"
          disabled={!isWhole || name.value.trim() === "" || isSaving.value}
        >
          {t("action.save")}
        </button>
        {shape === "polygon" && corners.length > 0 && (
          <button
            type="button"
            class="button"
            onClick={() => onSketch({ ...sketch, corners: corners.slice(0, -1) })}
          >
            {t("area.undo")}
          </button>
        )}
        <button type="button" class="button" onClick={() => onSketch(null)}>
          {t("action.cancel")}
        </button>
      </p>
    </form>
  );
}
