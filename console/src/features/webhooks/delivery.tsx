import { useQuery } from "@tanstack/react-query";
import type { WebhookDelivery } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { CopyBox } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { Ring } from "@/ui/state";
import { useAttemptText } from "./attempt-text";
import { eventOf } from "./queries";

/** Each attempt with its answer, and the message. */
export function DeliveryDetail({ it }: { it: WebhookDelivery }) {
  const { t } = useText();
  const { seconds } = useFormat();
  const textOf = useAttemptText();
  return (
    <div className="space-y-4 md:pl-6">
      {it.attempts.length > 0 && (
        <ol aria-label={t("webhooks.deliveryAttempts")} className="num space-y-1 text-sm">
          {it.attempts.map((attempt) => (
            <li
              key={attempt.at}
              className="grid grid-cols-[auto_7.5rem_minmax(0,1fr)_auto] items-center gap-x-3 max-md:grid-cols-[auto_minmax(0,1fr)_auto]"
            >
              <Ring mark={attempt.error ? "failed" : "runs"} />
              <span className="text-ink-3 max-md:col-start-2 max-md:row-start-2 max-md:text-xs">
                {seconds(attempt.at)}
              </span>
              <span>
                {textOf(attempt)}
                {attempt.retry_after_seconds !== null && (
                  <span className="text-ink-3">
                    {" "}
                    · {t("webhooks.retryAfter", { count: attempt.retry_after_seconds })}
                  </span>
                )}
              </span>
              <span className="text-ink-3 text-xs">{t("webhooks.took", { time: attempt.milliseconds })}</span>
            </li>
          ))}
        </ol>
      )}
      <Message it={it} />
    </div>
  );
}

const written = (type: string, timestamp: string, data: object) =>
  JSON.stringify({ type, timestamp, data }, null, 2);

/** The API keeps no bodies: those of events are in the history of the job. */
function Message({ it }: { it: WebhookDelivery }) {
  const { t } = useText();
  const isTest = it.type === "webhook.test";
  const isKept = it.type !== "job.progress";
  const event = useQuery({ ...eventOf(it.message_id), enabled: !isTest && isKept });
  const text = isTest
    ? written(it.type, it.created_at, { webhook_id: it.webhook_id })
    : event.data && written(it.type, event.data.time, event.data);
  const missing = () => {
    if (!isKept) return t("webhooks.messageProgress");
    return event.isPending ? t("webhooks.messageLoading") : t("webhooks.messageGone");
  };
  return (
    <div>
      <p className="mb-1 font-medium text-sm">{t("webhooks.message")}</p>
      {event.error ? (
        <ErrorLine error={event.error} />
      ) : text ? (
        <>
          <CopyBox lines text={text} label={t("webhooks.copyMessage")} />
          {!isTest && <p className="mt-1 text-ink-3 text-xs">{t("webhooks.messageHint")}</p>}
        </>
      ) : (
        <p className="text-ink-2 text-sm">{missing()}</p>
      )}
    </div>
  );
}
