import type { ComponentChildren } from "preact";

interface FieldProps {
  readonly name: string;
  readonly class?: string;
  readonly children: ComponentChildren;
}

/** A control with its name above it. */
export function Field({ name, class: more = "", children }: FieldProps) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the control is what is within
    <label class={`field ${more}`}>
      <span class="name">{name}</span>
      {children}
    </label>
  );
}
