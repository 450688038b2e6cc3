import { Field } from "../../shell/Field.js";

interface OptionInputProps<Value extends string> {
  readonly name: string;
  readonly value: Value | undefined;
  /** The label for no choice; absent: one must be chosen. */
  readonly empty?: string;
  readonly options: readonly (readonly [Value, string])[];
  onValue(value: Value | undefined): void;
}

export function OptionInput<Value extends string>({
  name,
  value,
  empty,
  options,
  onValue,
}: OptionInputProps<Value>) {
  return (
    <Field name={name}>
      <select
        class="input"
        value={value ?? ""}
        onChange={(event) => onValue(options.find(([one]) => one === event.currentTarget.value)?.[0])}
      >
        {empty !== undefined && <option value="">{empty}</option>}
        {options.map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </Field>
  );
}
