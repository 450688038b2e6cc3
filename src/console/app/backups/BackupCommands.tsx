/** How a backup is made, verified and put back: by a command on the service's machine, which no page can give. */
import { t } from "../i18n.js";
import { CopyButton } from "../shell/CopyButton.js";

const commands = [
  {
    text: "backup.settings",
    command: 'BACKUP_DIR=/mnt/backups BACKUP_KEEP=14 BACKUP_SCHEDULE="0 3 * * *"',
  },
  { text: "backup.make", command: "tidemark backup /mnt/backups" },
  { text: "backup.file", command: "tidemark backup /mnt/tidemark.tar.gz" },
  { text: "backup.slow", command: "tidemark backup /mnt/backups --rate 5" },
  { text: "backup.verify", command: "tidemark verify /mnt/backups/20261121T100000Z" },
  {
    text: "backup.restore",
    command: "DATA_DIR=/srv/restored tidemark restore /mnt/backups/20261121T100000Z",
  },
] as const;

export function BackupCommands() {
  return (
    <section class="form prose">
      <p>{t("backup.how")}</p>
      <p>{t("backup.set")}</p>
      {commands.map(({ text, command }) => (
        <figure key={command}>
          <figcaption class="row spread">
            {t(text)} <CopyButton text={command}>{t("action.copy")}</CopyButton>
          </figcaption>
          <pre class="secret">{command}</pre>
        </figure>
      ))}
      <p class="muted">{t("backup.key")}</p>
    </section>
  );
}
