import { ChevronRight } from "lucide-react";
import type { DeliveryState, WebhookDelivery, WebhookId } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { Empty, Section } from "@/ui/page";
import { Select } from "@/ui/select";
import { type Mark, StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { useAttemptText } from "./attempt-text";
import { DeliveryDetail } from "./delivery";
import { deliveries } from "./queries";

const marks: Record<DeliveryState, Mark> = {
  pending: "moves",
  delivered: "runs",
  failed: "failed",
  cancelled: "rests",
};

interface Props {
  id: WebhookId;
  state: DeliveryState | undefined;
  /** The delivery whose attempts are shown. */
  unfolded: string | undefined;
  onState: (state: DeliveryState | undefined) => void;
  onUnfold: (id: string | undefined) => void;
}

/** What was sent, newest first; each unfolds to its attempts and its message. */
export function Deliveries({ id, state, unfolded, onState, onUnfold }: Props) {
  const { t } = useText();
  const { seconds } = useFormat();
  const list = useLoadedPages(deliveries(id, state));
  const words = useWords();
  const stateMark = (it: WebhookDelivery) => <DeliveryMark it={it} />;
  const items = list.data.pages.flatMap((page) => page.items);
  const event = (it: WebhookDelivery) => (
    <button
      type="button"
      aria-expanded={it.id === unfolded}
      onClick={() => onUnfold(it.id === unfolded ? undefined : it.id)}
      className="group flex min-h-7 w-full min-w-0 cursor-pointer items-center gap-2 text-left"
    >
      <ChevronRight
        className={`size-4 shrink-0 text-ink-3 ${it.id === unfolded ? "rotate-90" : ""}`}
        aria-hidden="true"
      />
      <span className="min-w-0">
        <span className="block truncate text-sm group-hover:underline">{it.type}</span>
        <span className="block truncate font-mono text-ink-3 text-xs">{shortId(it.message_id)}</span>
      </span>
    </button>
  );
  const attempts = ({ attempts: made }: WebhookDelivery) => (
    <span className="num text-ink-2 text-sm">
      {made.length > 0 ? t("webhooks.attempts", { count: made.length }) : t("webhooks.attemptsNone")}
    </span>
  );
  const columns: Column<WebhookDelivery>[] = [
    { key: "event", label: t("webhooks.deliveryType"), width: "minmax(11rem, 1.2fr)", cell: event },
    {
      key: "at",
      label: t("webhooks.deliveryAt"),
      width: "8.5rem",
      cell: (it) => <span className="num text-ink-2 text-sm">{seconds(it.created_at)}</span>,
    },
    { key: "attempts", label: t("webhooks.deliveryAttempts"), width: "6rem", cell: attempts },
    {
      key: "result",
      label: t("webhooks.deliveryResult"),
      width: "minmax(12rem, 1.4fr)",
      cell: stateMark,
    },
  ];
  return (
    <Section
      title={t("webhooks.deliveries")}
      hint={t("webhooks.deliveriesHint")}
      actions={
        <div className="w-40">
          <Select
            small
            label={t("webhooks.deliveryState")}
            value={state ?? "all"}
            choices={[
              { value: "all" as const, label: t("webhooks.allStates") },
              ...(["pending", "delivered", "failed", "cancelled"] as const).map((value) => ({
                value,
                label: words[value],
              })),
            ]}
            onChange={(next) => onState(next === "all" ? undefined : next)}
          />
        </div>
      }
    >
      <Table
        label={t("webhooks.deliveries")}
        items={items}
        columns={columns}
        rowKey={(it) => it.id}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
        unfolded={(it) => it.id === unfolded && <DeliveryDetail it={it} />}
        empty={
          state ? (
            <p className="px-4 py-6 text-center text-ink-2 text-sm">{t("webhooks.noDeliveriesOf")}</p>
          ) : (
            <Empty title={t("webhooks.noDeliveries")}>{t("webhooks.noDeliveriesHint")}</Empty>
          )
        }
        narrow={(it) => (
          <div className="space-y-1.5">
            {event(it)}
            <div className="flex flex-wrap items-start justify-between gap-x-4 pl-6">
              {stateMark(it)}
              <span className="num text-ink-3 text-xs">{seconds(it.created_at)}</span>
            </div>
          </div>
        )}
      />
    </Section>
  );
}

function useWords(): Record<DeliveryState, string> {
  const { t } = useText();
  return {
    pending: t("webhooks.deliveryPending"),
    delivered: t("webhooks.deliveryDelivered"),
    failed: t("webhooks.deliveryFailed"),
    cancelled: t("webhooks.deliveryCancelled"),
  };
}

function DeliveryMark({ it }: { it: WebhookDelivery }) {
  const { t } = useText();
  const { clock } = useFormat();
  const textOf = useAttemptText();
  const words = useWords();
  const last = it.attempts.at(-1);
  const why = last && textOf(last);
  const reason = {
    pending: last
      ? [why, it.next_attempt_at && t("webhooks.next", { time: clock(it.next_attempt_at) })]
          .filter(Boolean)
          .join(" · ")
      : t("webhooks.sending"),
    delivered: why,
    failed: why,
    cancelled: t("webhooks.cancelled"),
  }[it.state];
  return (
    <StateMark mark={marks[it.state]} reason={reason}>
      {words[it.state]}
    </StateMark>
  );
}
