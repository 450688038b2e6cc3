/** A shared dashboard: what its token shows, and nothing else. Asked again, so that one that is revoked is gone. */
import { signal } from "@preact/signals";
import { ApiFailure } from "../api.js";
import { readZonesBy } from "../charts/zone.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { path } from "../router.js";
import { BoardView } from "./BoardView.js";
import { Grid } from "./Grid.js";
import { readShared, readZoneOfShare, shareSource } from "./share-source.js";

const lookMs = 10_000;

const token = signal(location.hash.slice(1));
readZonesBy((name) => readZoneOfShare(token.value, name));
addEventListener("hashchange", () => {
  token.value = location.hash.slice(1);
});

export function SharedPage() {
  const given = token.value;
  const { data, failure } = useQuery(
    `shared ${given}`,
    (signal) => readNamed(given, signal).catch(goneIfRefused),
    lookMs,
  );
  if (data === null) return <p class="notice">{t("share.gone")}</p>;
  if (data === undefined) {
    return failure === null ? (
      <p class="muted" aria-busy="true">
        {t("state.loading")}
      </p>
    ) : (
      <p class="notice warn">{t("state.away")}</p>
    );
  }
  const { name, document, zone } = data;
  return (
    <main class="page shared">
      <header>
        <h1>{name}</h1>
      </header>
      {failure !== null && <p class="notice warn">{t("state.away")}</p>}
      <BoardView document={document} deploymentZone={zone.name} sourceOf={() => shareSource(given, document)}>
        {(board) => <Grid panels={document.panels} board={board} />}
      </BoardView>
    </main>
  );
}

/** The share that the address names: its origins, and not another's, say who may frame the page. */
async function readNamed(given: string, signal: AbortSignal) {
  // Only where the page comes by TLS, or from this machine.
  if (globalThis.crypto?.subtle !== undefined) {
    const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(given)));
    const digest = btoa(String.fromCharCode(...hash));
    const named = digest.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    if (path.value !== `/shared/${named}`) return null;
  }
  return readShared(given, signal);
}

/** Null: it is revoked, turned off or over; nothing of it stays on the screen. */
function goneIfRefused(error: unknown): null {
  if (error instanceof ApiFailure && (error.status === 401 || error.status === 404)) return null;
  throw error;
}
