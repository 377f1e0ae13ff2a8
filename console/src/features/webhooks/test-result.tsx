import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { WebhookId } from "@/api/generated/types";
import { useText } from "@/i18n";
import { StateMark } from "@/ui/state";
import { useAttemptText } from "./attempt-text";
import { deliveries, webhook } from "./queries";

/** What the endpoint answered to the test that was sent last. */
export function TestResult({ id, delivery }: { id: WebhookId; delivery: string | undefined }) {
  const { t } = useText();
  const textOf = useAttemptText();
  const { data } = useInfiniteQuery({ ...deliveries(id), enabled: delivery !== undefined });
  const sent = data?.pages.flatMap((page) => page.items).find((it) => it.id === delivery);
  const last = sent?.attempts.at(-1);
  const client = useQueryClient();
  const ended = sent?.ended_at;
  useEffect(() => {
    // whether the endpoint fails is known anew
    if (ended) void client.invalidateQueries({ queryKey: webhook(id).queryKey, exact: true });
  }, [client, id, ended]);
  const result = () => {
    if (sent?.type !== "webhook.test") return null;
    if (!last) return <StateMark mark="moves">{t("webhooks.testing")}</StateMark>;
    if (sent.state === "delivered")
      return (
        <StateMark mark="runs">
          {t("webhooks.testWorks", { status: String(last.status ?? ""), time: last.milliseconds })}
        </StateMark>
      );
    return <StateMark mark="failed">{t("webhooks.testFails", { why: textOf(last) })}</StateMark>;
  };
  return (
    <div role="status" className="mb-4 empty:mb-0">
      {result()}
    </div>
  );
}
