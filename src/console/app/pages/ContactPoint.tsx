/** A contact point: what it would receive, a test of it, and what it has received. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { me } from "../session.js";
import { Status } from "../shell/Status.js";
import { useAct } from "../use-act.js";

interface ContactPointRecord {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly enable: number;
  readonly language: string | null;
  readonly subjectTemplate: string | null;
  readonly bodyTemplate: string | null;
}

interface Message {
  readonly subject: string;
  readonly body: string;
}

interface Tested {
  readonly delivered: boolean;
  readonly answer: string;
}

export function ContactPoint({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const path = `/contact_points/${encodeURIComponent(id)}`;
  const asked = useQuery(path, (signal) => call<ContactPointRecord>("GET", path, { signal }));
  const mayChange = me.value?.rights.includes("write") === true;
  return (
    <QueryResult asked={asked}>
      {(point) => (
        <>
          <header>
            <div>
              <h1>{point.name}</h1>
              <p class="row muted">
                <Status
                  tone={point.enable === 1 ? "good" : "idle"}
                  word={t(point.enable === 1 ? "contact.inUse" : "contact.off")}
                />
                <span>{point.type}</span>
              </p>
            </div>
          </header>
          {mayChange && (
            <div class="row">
              <Test path={`${path}/test`} />
              <Preview point={point} />
            </div>
          )}
        </>
      )}
    </QueryResult>
  );
}

function Test({ path }: { readonly path: string }) {
  const tested = useSignal<Tested | null>(null);
  const { act, failure, isBusy } = useAct();
  async function test(): Promise<void> {
    tested.value = null;
    tested.value = (await act(() => call<Tested>("POST", path))) ?? null;
  }
  return (
    <div class="row">
      <button type="button" class="button main" disabled={isBusy} onClick={() => void test()}>
        {t("contact.test")}
      </button>
      <span role="status">
        {isBusy && <span class="muted">{t("state.loading")}</span>}
        {failure !== null && <Status tone="bad" word={failure} />}
        {tested.value !== null && (
          <>
            <Status
              tone={tested.value.delivered ? "good" : "bad"}
              word={t(tested.value.delivered ? "contact.delivered" : "contact.failed")}
            />{" "}
            {tested.value.answer}
          </>
        )}
      </span>
    </div>
  );
}

function Preview({ point }: { readonly point: ContactPointRecord }) {
  const message = useSignal<Message | null>(null);
  const { act, failure, isBusy } = useAct();
  async function preview(): Promise<void> {
    const { type, language, subjectTemplate, bodyTemplate } = point;
    const body = { type, language, subjectTemplate, bodyTemplate };
    message.value = (await act(() => call<Message>("POST", "/contact_points/preview", { body }))) ?? null;
  }
  return (
    <>
      <div class="row">
        <button type="button" class="button" disabled={isBusy} onClick={() => void preview()}>
          {t("contact.preview")}
        </button>
        {failure !== null && <Status tone="bad" word={failure} />}
      </div>
      {message.value !== null && (
        <figure>
          <figcaption>{message.value.subject}</figcaption>
          <pre class="secret wrapped">{message.value.body}</pre>
        </figure>
      )}
    </>
  );
}
