/** All dashboards of a tenant. */
import { useSignal } from "@preact/signals";
import { ApiFailure, call } from "../api.js";
import { t } from "../i18n.js";
import { ResourceList } from "../resources/ResourceList.js";
import type { Resource } from "../resources/resources.js";
import { formatHref, goTo } from "../router.js";
import { me } from "../session.js";
import { TitledDialog } from "../shell/TitledDialog.js";
import { emptyDocument } from "./document.js";
import { readDocument } from "./SettingsForm.js";

const dashboards = {
  path: "/dashboards",
  form: null,
  title: "nav.dashboards",
  columns: ["name", "description", "version", "updateUser", "updateAt"],
  search: "name",
  page: ({ id }) => `/dashboards/${id}`,
  canDelete: true,
  beginning: {
    text: "empty.dashboards",
    path: "/dashboards",
    body: { name: "Greenhouse", document: emptyDocument },
  },
} as const satisfies Resource;

export function DashboardList() {
  const isOpen = useSignal(false);
  return (
    <>
      <header>
        <h1>{t("nav.dashboards")}</h1>
        {me.value?.rights.includes("write") === true && (
          <button
            type="button"
            class="button main"
            onClick={() => {
              isOpen.value = true;
            }}
          >
            {t("action.new")}
          </button>
        )}
      </header>
      <ResourceList resource={dashboards} />
      {isOpen.value && (
        <NewDashboard
          onClose={() => {
            isOpen.value = false;
          }}
        />
      )}
    </>
  );
}

function NewDashboard({ onClose }: { onClose(): void }) {
  const name = useSignal("");
  const json = useSignal("");
  const fault = useSignal<string | null>(null);
  const isBusy = useSignal(false);
  async function make(event: SubmitEvent): Promise<void> {
    event.preventDefault();
    if (isBusy.value) return;
    const document = json.value.trim() === "" ? emptyDocument : readDocument(json.value);
    if (typeof document === "string") {
      fault.value = document;
      return;
    }
    isBusy.value = true;
    try {
      const { id } = await call<{ readonly id: number }>("POST", "/dashboards", {
        body: { name: name.value, document },
      });
      goTo(formatHref(`/dashboards/${id}`, { edit: "1" }));
    } catch (error) {
      if (!(error instanceof ApiFailure)) throw error;
      const named = Object.entries(error.fields).map(([field, text]) => `${field} ${text}`);
      fault.value = [error.message, ...named].join("; ");
    } finally {
      isBusy.value = false;
    }
  }
  return (
    <TitledDialog title={t("board.new")} onClose={onClose}>
      <form class="form" onSubmit={make}>
        <label class="field">
          <span class="name">{t("board.name")}</span>
          <input
            class="input"
            required
            maxLength={255}
            value={name.value}
            onInput={(event) => {
              name.value = event.currentTarget.value;
            }}
          />
        </label>
        <label class="field">
          <span class="name">{t("board.fromJson")}</span>
          <textarea
            class="input mono"
            rows={4}
            value={json.value}
            onInput={(event) => {
              json.value = event.currentTarget.value;
            }}
          />
        </label>
        {fault.value !== null && (
          <p class="notice bad" role="alert">
            {fault.value}
          </p>
        )}
        <p>
          <button type="submit" class="button main" disabled={isBusy.value}>
            {t("board.make")}
          </button>
        </p>
      </form>
    </TitledDialog>
  );
}
