/** A stream: the topic of a product, and which data points its messages carry in which order. */
import { useSignal } from "@preact/signals";
import { call } from "../api.js";
import { language, t } from "../i18n.js";
import { ProductLink } from "../pages/ProductLink.js";
import { QueryResult, useQuery } from "../query.js";
import { ResourceForm } from "../resources/ResourceForm.js";
import { resources } from "../resources/resources.js";
import { me } from "../session.js";
import { shownHeaders } from "../shown.js";
import { StreamPoints } from "./StreamPoints.js";
import type { StreamRecord } from "./stream-record.js";

export function Stream({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const path = `/data_streams/${encodeURIComponent(id)}`;
  const asked = useQuery(`${path} ${language.value}`, (signal) =>
    call<StreamRecord>("GET", path, { headers: shownHeaders(), signal }),
  );
  return (
    <QueryResult asked={asked}>
      {(stream) => (
        <>
          <Head stream={stream} onChanged={asked.again} />
          <StreamPoints stream={stream} onChanged={asked.again} />
        </>
      )}
    </QueryResult>
  );
}

interface HeadProps {
  readonly stream: StreamRecord;
  onChanged(): void;
}

function Head({ stream, onChanged }: HeadProps) {
  const isEdited = useSignal(false);
  const { streamName, topic, streamTypeLabel, streamDataTypeLabel, detail } = stream;
  return (
    <header>
      <div>
        <h1>{streamName}</h1>
        <p class="row muted">
          <code class="line" title={topic}>
            {topic}
          </code>
          <span>{streamTypeLabel}</span>
          <span>{streamDataTypeLabel}</span>
          <ProductLink {...stream} />
          <span>{detail}</span>
        </p>
      </div>
      {me.value?.rights.includes("write") === true && (
        <button
          type="button"
          class="button"
          onClick={() => {
            isEdited.value = true;
          }}
        >
          {t("action.edit")}
        </button>
      )}
      {isEdited.value && (
        <ResourceForm
          resource={resources.dataStreams}
          form={resources.dataStreams.form}
          record={{ id: stream.id }}
          within={{}}
          onClose={(isChanged) => {
            isEdited.value = false;
            if (isChanged) onChanged();
          }}
        />
      )}
    </header>
  );
}
