import { ChevronRight } from "lucide-react";
import type { DeadMessage, MqCredential } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { Empty, Section } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { MessageDetail } from "./message";
import { refused } from "./queries";
import { Replay } from "./replay";

/** Messages that became no job: why, what to do, and the message itself. */
export function Refused({
  known,
  unfolded,
  onUnfold,
}: {
  known: readonly MqCredential[];
  unfolded: string | undefined;
  onUnfold: (id: string | undefined) => void;
}) {
  const { t } = useText();
  const { seconds } = useFormat();
  const list = useLoadedPages(refused);
  const items = list.data.pages.flatMap((page) => page.items);
  const names = new Map(known.map((it) => [String(it.id), it.name]));
  const reason = (it: DeadMessage) => (
    <button
      type="button"
      aria-expanded={it.id === unfolded}
      onClick={() => onUnfold(it.id === unfolded ? undefined : it.id)}
      className="group flex w-full min-w-0 cursor-pointer items-start gap-2 text-left"
    >
      <ChevronRight
        className={`mt-0.5 size-4 shrink-0 text-ink-3 ${it.id === unfolded ? "rotate-90" : ""}`}
        aria-hidden="true"
      />
      <span className="min-w-0">
        <span className="block text-sm group-hover:underline">{t(`queue.codes.${it.code}`)}</span>
        <span className="block text-ink-3 text-xs">{t(`queue.advice.${it.code}`)}</span>
      </span>
    </button>
  );
  const from = ({ credential }: DeadMessage) => (
    <span className="block truncate text-ink-2 text-sm">
      {credential
        ? (names.get(credential) ?? t("queue.endedCredential", { id: shortId(credential) }))
        : t("queue.noCredential")}
    </span>
  );
  const at = (it: DeadMessage) => <span className="num text-ink-2 text-sm">{seconds(it.created_at)}</span>;
  const columns: Column<DeadMessage>[] = [
    { key: "reason", label: t("queue.reason"), width: "minmax(14rem, 2fr)", cell: reason },
    { key: "from", label: t("queue.from"), width: "minmax(7rem, 1fr)", cell: from },
    { key: "at", label: t("queue.at"), width: "8.5rem", cell: at },
    {
      key: "replay",
      label: t("queue.replay"),
      hiddenLabel: true,
      width: "9rem",
      end: true,
      cell: (it) => <Replay it={it} />,
    },
  ];
  return (
    <Section title={t("queue.refused")} hint={t("queue.refusedHint")}>
      <Table
        label={t("queue.refused")}
        items={items}
        columns={columns}
        rowKey={(it) => it.id}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
        unfolded={(it) => it.id === unfolded && <MessageDetail it={it} />}
        empty={<Empty title={t("queue.noRefusedTitle")}>{t("queue.noRefusedHint")}</Empty>}
        narrow={(it) => (
          <div className="space-y-2">
            {reason(it)}
            <div className="flex flex-wrap items-center justify-between gap-2 pl-6">
              <span className="min-w-0">
                {from(it)}
                {at(it)}
              </span>
              <Replay it={it} />
            </div>
          </div>
        )}
      />
    </Section>
  );
}
