/** A client certificate with its files, which a device needs to get in. */
import { call } from "../api.js";
import { saveFile } from "../files.js";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Bindings } from "../resources/Bindings.js";
import { boundDevices, device } from "../resources/resources.js";
import { CopyButton } from "../shell/CopyButton.js";
import { Status } from "../shell/Status.js";
import type { TextKey } from "../texts/texts.js";

interface CertRecord {
  readonly id: number;
  readonly name: string;
  readonly enable: number;
  readonly CN: string;
  readonly cert: string;
  /** Null for users who may only read. */
  readonly key: string | null;
  readonly root: string;
}

export function Cert({ params: { id = "" } }: { readonly params: Readonly<Record<string, string>> }) {
  const path = `/certs/${encodeURIComponent(id)}`;
  const asked = useQuery(path, (signal) => call<CertRecord>("GET", path, { signal }));
  return (
    <QueryResult asked={asked}>
      {({ id: certID, name, enable, CN, cert, key, root }) => (
        <>
          <header>
            <div>
              <h1>{name}</h1>
              <p class="row muted">
                <Status
                  tone={enable === 1 ? "good" : "idle"}
                  word={t(enable === 1 ? "cert.inUse" : "cert.off")}
                />
                <code>{CN}</code>
              </p>
            </div>
          </header>
          <div class="form prose">
            <Pem title="cert.cert" file={`${name}.crt`} text={cert} />
            {key !== null && <Pem title="cert.key" file={`${name}.key`} text={key} isSecret />}
            <Pem title="cert.root" file="root.crt" text={root} />
          </div>
          <section class="part">
            <h2>{t("nav.devices")}</h2>
            <Bindings
              resource={{ ...boundDevices, path: `${path}/devices` }}
              from={{ ...device, path: `/platform_select${path}/not_joined_devices` }}
              fromOther={{ id: certID, pathOf: (other) => `/devices/${other}/certs` }}
            />
          </section>
        </>
      )}
    </QueryResult>
  );
}

interface PemProps {
  readonly title: TextKey;
  readonly file: string;
  readonly text: string;
  readonly isSecret?: boolean;
}

function Pem({ title, file, text, isSecret = false }: PemProps) {
  return (
    <figure>
      <figcaption class="row spread">
        {t(title)}
        <span class="row">
          <CopyButton text={text}>{t("action.copy")}</CopyButton>
          <button
            type="button"
            class="button"
            onClick={() => saveFile(new Blob([text], { type: "application/x-pem-file" }), file)}
          >
            {t("transfer.download")}
          </button>
        </span>
      </figcaption>
      {!isSecret && <pre class="secret">{text}</pre>}
    </figure>
  );
}
