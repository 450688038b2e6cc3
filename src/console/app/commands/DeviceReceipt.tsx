/** The outcome of a command to one device, by its control log. */
import { call, type Page } from "../api.js";
import { describeCode } from "../codes.js";
import { t } from "../i18n.js";
import { useQuery } from "../query.js";
import { me } from "../session.js";
import { Status, type Tone } from "../shell/Status.js";
import { inbox, type Typed } from "./command.js";

interface DeviceReceiptProps {
  readonly deviceIntID: number;
  readonly typed: Typed;
  /** As the answer to the command has said. */
  readonly isTaken: boolean;
  readonly round: number;
}

interface Log {
  readonly publishStatus: number;
}

const everyMs = 1000;
const waiting = 1;
/** By the status of a control log. */
const tones: readonly Tone[] = ["bad", "warn", "good", "good"];
/** A longer payload does not fit into an address. */
const payloadMax = 1500;

export function DeviceReceipt({ deviceIntID, typed, isTaken, round }: DeviceReceiptProps) {
  const { topic, payload } = typed;
  const asked = useQuery(
    `receipt ${deviceIntID} ${round}`,
    async (signal) => {
      const query = {
        deviceIntID,
        topic: topic.trim() === "" ? inbox : topic.trim(),
        payload: payload.length > payloadMax ? undefined : payload,
        publishUser: me.value?.username,
        _limit: 1,
      };
      return (await call<Page<Log>>("GET", "/device_control_logs", { query, signal })).items[0] ?? null;
    },
    everyMs,
    (log) => log === null || log.publishStatus !== waiting,
  );
  const log = asked.data ?? null;
  return (
    <p class="row" role="status">
      {isTaken ? (
        <>
          <Status tone="good" word={t("command.sent")} />
          {log !== null && (
            <Status
              tone={tones[log.publishStatus] ?? "idle"}
              word={describeCode("publishStatus", log.publishStatus)}
            />
          )}
        </>
      ) : (
        <Status tone="bad" word={t("command.failed")} />
      )}
    </p>
  );
}
