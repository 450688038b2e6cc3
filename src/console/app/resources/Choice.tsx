interface ChoiceProps {
  readonly name: string;
  /** What stands for no choice. */
  readonly none: string;
  readonly value: string | undefined;
  readonly options: readonly { readonly value: string; readonly text: string }[];
  onChoice(value: string | undefined): void;
}

/** One of some values, or none of them; one that is no option is shown as it is. */
export function Choice({ name, none, value = "", options, onChoice }: ChoiceProps) {
  return (
    <select
      class="input choice"
      aria-label={name}
      value={value}
      onChange={(event) => onChoice(event.currentTarget.value === "" ? undefined : event.currentTarget.value)}
    >
      <option value="">{none}</option>
      {value !== "" && !options.some((one) => one.value === value) && <option value={value}>{value}</option>}
      {options.map((one) => (
        <option key={one.value} value={one.value}>
          {one.text}
        </option>
      ))}
    </select>
  );
}
