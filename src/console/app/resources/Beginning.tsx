/** A list without records: what will stand there, and how the first one is made. */
import { api } from "../base.js";
import { t } from "../i18n.js";
import { me } from "../session.js";
import { CopyButton } from "../shell/CopyButton.js";
import type { Beginning } from "./resources.js";

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

export function BeginningOf({ text, path, body, right = "write" }: Beginning) {
  const variant = me.value?.variant === "B" ? ` -H 'Api-Variant: A'` : "";
  const command = [
    `curl -X POST ${location.origin}${api}${path}`,
    `  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json'${variant}`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join(" \\\n");
  return (
    <div class="notice beginning">
      <p>{t(text)}</p>
      {me.value?.rights.includes(right) === true && (
        <>
          <pre class="secret">{command}</pre>
          <div class="row spread">
            <span class="muted hint">{t("list.commandKey")}</span>
            <CopyButton text={command}>{t("action.copy")}</CopyButton>
          </div>
        </>
      )}
    </div>
  );
}
