import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { wallText } from "../charts/zone.js";
import { me } from "../session.js";

interface MessageRowProps {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Behind its time. */
  readonly children: ComponentChildren;
  /** Made only once it is looked at. */
  detail(): ComponentChildren;
}

/** A message in a line, to be opened and taken apart. */
export function MessageRow({ time, children, detail }: MessageRowProps) {
  const isOpen = useSignal(false);
  return (
    <li>
      <details
        onToggle={(event) => {
          isOpen.value = event.currentTarget.open;
        }}
      >
        <summary>
          <span class="message-line">
            <span class="mono muted time">{wallText(me.value?.timezone ?? "UTC", Math.round(time))}</span>{" "}
            {children}
          </span>
        </summary>
        {isOpen.value && detail()}
      </details>
    </li>
  );
}
