import { useSignal } from "@preact/signals";

interface CommittedInputProps {
  readonly class: string;
  readonly "aria-label"?: string;
  readonly "aria-keyshortcuts"?: string;
  readonly list?: string;
  onFocus?(): void;
  readonly value: string;
  onCommit(text: string): void | Promise<void>;
}

/** A text that takes effect once its field is left. What is drawn meanwhile does not undo what is half typed. */
export function CommittedInput({ value, onCommit, ...rest }: CommittedInputProps) {
  const typed = useSignal<string | null>(null);
  return (
    <input
      {...rest}
      type="text"
      value={typed.value ?? value}
      onInput={({ currentTarget }) => {
        typed.value = currentTarget.value;
      }}
      onChange={async ({ currentTarget: { value: committed } }) => {
        await onCommit(committed);
        // Somebody may be typing again by then.
        if (typed.value === committed) typed.value = null;
      }}
    />
  );
}
