/** A kept message, taken apart as the product is now. */
import { useSignal } from "@preact/signals";
import { call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Explanation } from "./Explanation.js";
import type { Explained } from "./explained.js";
import { fetchOwner } from "./owner.js";
import { decodePayload } from "./payload.js";

interface MessageDetailProps {
  /** The device's record id. */
  readonly device: number;
  readonly eventID: number;
  /** Absent: asked for. */
  readonly payload?: string;
  /** A policy has refused it: it was never decoded. */
  readonly isRefused?: boolean;
  /** Absent: asked for. */
  readonly productID?: string;
}

interface EventRow {
  readonly payload: string;
}

export function MessageDetail({
  device,
  eventID,
  payload,
  isRefused = false,
  productID,
}: MessageDetailProps) {
  const mended = useSignal(0);
  const asked = useQuery(`explain ${device} ${eventID} ${mended.value} ${isRefused}`, async (signal) => {
    const [text, product, explained] = await Promise.all([
      payload ??
        call<Page<EventRow>>("GET", `/devices/${device}/events`, { query: { id: eventID }, signal }).then(
          ({ items }) => items[0]?.payload ?? "",
        ),
      productID ?? fetchOwner(device, signal).then((owner) => owner.productID),
      isRefused ? null : call<Explained>("POST", `/devices/${device}/explain`, { body: { eventID }, signal }),
    ]);
    return { bytes: decodePayload(text), text, product, explained };
  });
  return (
    <QueryResult asked={asked}>
      {({ bytes, text, product, explained }) =>
        explained === null ? (
          <>
            <p class="notice warn">{t("message.policy")}</p>
            <pre class="text">{text}</pre>
          </>
        ) : (
          <Explanation
            explained={explained}
            bytes={bytes}
            productID={product}
            onMended={() => {
              mended.value++;
            }}
          />
        )
      }
    </QueryResult>
  );
}
