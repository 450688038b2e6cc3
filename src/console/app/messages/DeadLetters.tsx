/** Messages that ended starts of the service and wait: why, what they hold, and whether they are tried once more. */
import { useSignal } from "@preact/signals";
import { t } from "../i18n.js";
import { QueryResult, useQuery } from "../query.js";
import { Pages } from "../resources/ResourceList.js";
import { query, setQuery } from "../router.js";
import { Status } from "../shell/Status.js";
import { Moment } from "../shown.js";
import { DeadLetterDetail } from "./DeadLetterDetail.js";
import { type DeadLetter, describeEffects, fetchDeadLetters } from "./dead-letters.js";

const refreshMs = 5000;
const rowsPerPage = 25;

export function DeadLetters() {
  const asked = useQuery("set aside", fetchDeadLetters, refreshMs);
  /** The outcome of the last one that was settled. */
  const outcome = useSignal<string | null>(null);
  const page = Math.max(1, Math.trunc(Number(query.value.page)) || 1);
  return (
    <section>
      <p role="status">{outcome.value !== null && <Status tone="good" word={outcome.value} />}</p>
      <QueryResult asked={asked}>
        {(asides) =>
          asides.length === 0 ? (
            <p class="notice">{t("aside.none")}</p>
          ) : (
            <>
              <p class="muted prose">{t("aside.text")}</p>
              <ul class="messages">
                {asides.slice((page - 1) * rowsPerPage, page * rowsPerPage).map((aside) => (
                  <Message
                    key={aside.id}
                    aside={aside}
                    onSettled={(text) => {
                      outcome.value = text;
                      asked.again();
                    }}
                  />
                ))}
              </ul>
              {asides.length > rowsPerPage && <Pages count={asides.length} page={page} limit={rowsPerPage} />}
            </>
          )
        }
      </QueryResult>
    </section>
  );
}

interface MessageProps {
  readonly aside: DeadLetter;
  onSettled(text: string): void;
}

function Message({ aside, onSettled }: MessageProps) {
  const { id, topic, receivedAt, parts } = aside;
  const isOpen = query.value.message === String(id);
  return (
    <li>
      <details
        open={isOpen}
        onToggle={({ currentTarget: { open } }) => {
          if (open !== isOpen) setQuery({ message: open ? String(id) : undefined });
        }}
      >
        <summary>
          <span class="muted">
            <Moment at={receivedAt} />
          </span>{" "}
          <code class="line">{topic}</code>{" "}
          <Status
            tone="bad"
            word={t("aside.without", { parts: describeEffects(parts.map(({ follower }) => follower)) })}
          />
        </summary>
        {isOpen && <DeadLetterDetail aside={aside} onSettled={onSettled} />}
      </details>
    </li>
  );
}
