/** A formula as it is written, with the names that it may use at hand, and what is wrong with it where it is wrong. */
import { useId, useRef } from "preact/hooks";
import { t } from "../i18n.js";
import { useCut } from "../shell/use-cut.js";
import type { FormulaPoint } from "./names.js";

interface FormulaInputProps {
  readonly label: string;
  readonly text: string;
  /** What the service says of it. */
  readonly fault: string | undefined;
  readonly points: readonly FormulaPoint[];
  onText(text: string): void;
}

const own = ["dataPoint", "lastValue"] as const;
const functions = ["abs", "round", "min", "max", "sqrt", "log10", "exp", "floor", "ceil"] as const;
const pointsShown = 30;

export function FormulaInput({ label, text, fault, points, onText }: FormulaInputProps) {
  const id = useId();
  const input = useRef<HTMLTextAreaElement>(null);

  function insert(word: string, back = 0): void {
    const element = input.current;
    if (element === null) return;
    const { selectionStart, selectionEnd } = element;
    const before = text.slice(0, selectionStart);
    // Two names beside each other would be one.
    const spaced = /[\w$]$/.test(before) ? ` ${word}` : word;
    const next = before + spaced + text.slice(selectionEnd);
    onText(next);
    const at = before.length + spaced.length - back;
    requestAnimationFrame(() => {
      element.focus();
      element.setSelectionRange(at, at);
    });
  }

  return (
    <div class="field long">
      <label class="name" for={id}>
        {label}
      </label>
      <textarea
        ref={input}
        id={id}
        class="input mono formula"
        rows={2}
        spellcheck={false}
        autocomplete="off"
        value={text}
        {...(fault === undefined ? {} : { "aria-invalid": "true", "aria-describedby": `${id}-fault` })}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      {fault !== undefined && <Fault id={`${id}-fault`} text={text} fault={fault} />}
      <fieldset class="row switches words">
        <legend class="unseen">{t("formula.insert")}</legend>
        {own.map((word) => (
          <Word key={word} word={word} title={t(`formula.${word}`)} onInsert={() => insert(word)} />
        ))}
        {points.slice(0, pointsShown).map(({ dataPointID, dataPointName }) => (
          <Word
            key={dataPointID}
            word={dataPointID}
            title={dataPointName}
            onInsert={() => insert(dataPointID)}
          />
        ))}
        <span class="gap" />
        {functions.map((word) => (
          <Word
            key={word}
            word={`${word}( )`}
            title={t("formula.function")}
            onInsert={() => insert(`${word}()`, 1)}
          />
        ))}
      </fieldset>
    </div>
  );
}

interface WordProps {
  readonly word: string;
  readonly title: string;
  onInsert(): void;
}

function Word({ word, title, onInsert }: WordProps) {
  return (
    <button type="button" class="button switch mono" title={title} onClick={onInsert}>
      <span class="cut">{word}</span>
    </button>
  );
}

/** Characters shown before and after the one that is meant. */
const around = 40;

function Fault({ id, text, fault }: { readonly id: string; readonly text: string; readonly fault: string }) {
  const column = Number(/\(column (\d+)\)$/.exec(fault)?.[1] ?? 0);
  const from = Math.max(0, column - 1 - around);
  const place = useRef<HTMLPreElement>(null);
  const isCut = useCut(place);
  const excerpt = text.slice(from, column + around).replaceAll(/\s/g, " ");
  return (
    <div id={id} class="fault" role="alert">
      {column > 0 && (
        <pre ref={place} class="excerpt" {...(isCut ? { tabIndex: 0 } : {})}>
          {excerpt}
          {"\n"}
          {" ".repeat(column - 1 - from)}
          <span class="caret">^</span>
        </pre>
      )}
      {fault}
    </div>
  );
}
