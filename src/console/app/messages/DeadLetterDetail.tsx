/** One dead letter. It is not parsed here: parsing it is what ended the service. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call, type Page } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Deletion } from "../resources/Deletion.js";
import { formatHref } from "../router.js";
import { Status } from "../shell/Status.js";
import { Moment } from "../shown.js";
import { useAct } from "../use-act.js";
import { Bytes } from "./Bytes.js";
import { type DeadLetter, describeEffects, type Follower } from "./dead-letters.js";
import { decodePayload } from "./payload.js";

interface DeadLetterDetailProps {
  readonly aside: DeadLetter;
  /** It is no longer a dead letter. */
  onSettled(text: string): void;
}

export function DeadLetterDetail(props: DeadLetterDetailProps) {
  const { aside } = props;
  const event = useQuery(`event ${aside.deviceIntID} ${aside.id}`, (signal) => fetchEvent(aside, signal));
  return (
    <div class="explanation">
      <QueryResult asked={event}>
        {(found) => (
          <>
            <Facts aside={aside} event={found} />
            {found.is === "known" ? (
              <Payload text={found.payload} />
            ) : (
              <p class="muted">{t(found.is === "foreign" ? "aside.foreign" : "aside.noPayload")}</p>
            )}
          </>
        )}
      </QueryResult>
      <Actions {...props} />
    </div>
  );
}

interface EventRow {
  readonly deviceID: string | null;
  readonly deviceName: string | null;
  readonly payload: string;
}

/** `foreign`: it belongs to another tenant or a deleted device. `none`: it is not a message, so it has no event. */
type Event = { readonly is: "foreign" | "none" } | ({ readonly is: "known" } & EventRow);

const notFound = 404;

async function fetchEvent({ id, deviceIntID }: DeadLetter, signal: AbortSignal): Promise<Event> {
  try {
    const path = `/devices/${deviceIntID}/events`;
    const { items } = await call<Page<EventRow>>("GET", path, { query: { id }, signal });
    return items[0] === undefined ? { is: "none" } : { is: "known", ...items[0] };
  } catch (error) {
    if (!(error instanceof ApiFailure) || error.status !== notFound) throw error;
    return { is: "foreign" };
  }
}

function Facts({ aside, event }: { readonly aside: DeadLetter; readonly event: Event }) {
  const { id, deviceIntID, receivedAt, asideAt, parts } = aside;
  const name = event.is === "known" ? (event.deviceName ?? event.deviceID) : null;
  return (
    <dl class="facts">
      <dt>{t("aside.number")}</dt>
      <dd class="mono">{id}</dd>
      <dt>{t("explore.device")}</dt>
      <dd>
        {event.is === "foreign" ? (
          deviceIntID
        ) : (
          <a href={formatHref(`/devices/${deviceIntID}`)}>{name ?? deviceIntID}</a>
        )}
      </dd>
      <dt>{t("aside.received")}</dt>
      <dd>
        <Moment at={receivedAt} />
      </dd>
      <dt>{t("aside.title")}</dt>
      <dd>
        <Moment at={asideAt} />
      </dd>
      {parts.flatMap(({ follower, reason }) => [
        <dt key={`${follower} name`}>{describeEffects([follower])}</dt>,
        <dd key={follower}>{reason}</dd>,
      ])}
    </dl>
  );
}

function Payload({ text }: { readonly text: string }) {
  const bytes = decodePayload(text);
  return (
    <div>
      <p class="muted">{t("message.bytes", { count: bytes.length })}</p>
      <Bytes bytes={bytes} fields={null} />
    </div>
  );
}

interface Replayed {
  readonly replayed: readonly Follower[];
  readonly refused: readonly { readonly follower: Follower; readonly reason: string }[];
}

function Actions({ aside: { id }, onSettled }: DeadLetterDetailProps) {
  const refused = useSignal<Replayed["refused"]>([]);
  const { act, failure, isBusy } = useAct();

  async function replay(): Promise<void> {
    refused.value = [];
    const found = await act(() => call<Replayed>("POST", `/set_aside/${id}/replay`));
    if (found === undefined) return;
    refused.value = found.refused;
    if (found.refused.length === 0)
      onSettled(t("aside.done", { id, parts: describeEffects(found.replayed) }));
  }

  return (
    <>
      <div class="row">
        <button type="button" class="button main" disabled={isBusy} onClick={() => void replay()}>
          {t("aside.replay")}
        </button>
        <Deletion
          path=""
          ids={[id]}
          verb="aside.drop"
          question="aside.sureDrop"
          isCounted={false}
          remove={() => call("POST", `/set_aside/${id}/drop`)}
          onDone={() => onSettled(t("aside.dropped", { id }))}
        />
        {isBusy && <span class="muted">{t("aside.trying")}</span>}
      </div>
      <div role="alert">
        {failure !== null && <Status tone="bad" word={failure} />}
        {refused.value.map(({ follower, reason }) => (
          <p key={follower}>
            <Status tone="bad" word={t("aside.refused", { parts: describeEffects([follower]), reason })} />
          </p>
        ))}
      </div>
    </>
  );
}
