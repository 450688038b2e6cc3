/** A device, group or product by its string id, looked for by name on the server. */
import { useEffect, useRef } from "preact/hooks";
import { ReferenceInput } from "../resources/ReferenceInput.js";

const references = {
  device: { path: "/devices", value: "deviceID", label: "deviceName" },
  group: { path: "/groups", value: "groupID", label: "groupName" },
  product: { path: "/products", value: "productID", label: "productName" },
} as const;

interface RecordInputProps {
  readonly type: keyof typeof references;
  readonly value: string;
  readonly label: string;
  /** Called when the input is complete, not while it is typed. */
  onValue(value: string): void;
}

export function RecordInput({ type, value, label, onValue }: RecordInputProps) {
  const newest = useRef(value);
  const isTyping = useRef(false);
  useEffect(() => {
    newest.current = value;
  }, [value]);
  function notify(): void {
    isTyping.current = false;
    if (newest.current !== value) onValue(newest.current);
  }
  return (
    <span
      class="record-input"
      onInputCapture={() => {
        isTyping.current = true;
      }}
      onChange={notify}
    >
      <ReferenceInput
        shared={{ class: "input", "aria-label": label, placeholder: label }}
        text={value}
        reference={references[type]}
        within={{}}
        onText={(text) => {
          newest.current = text;
          // A name that was found after it was left.
          if (!isTyping.current) notify();
        }}
      />
    </span>
  );
}
