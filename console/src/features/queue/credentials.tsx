import type { ReactNode } from "react";
import type { MqCredential } from "@/api/generated/types";
import { useMakerName } from "@/domain/maker";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";
import { type Column, Table } from "@/ui/table";
import { CredentialMenu } from "./menu";

/** Who may sign in at the broker. */
export function Credentials({ items, empty }: { items: readonly MqCredential[]; empty: ReactNode }) {
  const { t } = useText();
  const { day } = useFormat();
  const makerOf = useMakerName();
  const name = (it: MqCredential) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium">{it.name}</span>
      <span className="flex items-center gap-1 text-ink-3 text-xs">
        <span className="truncate font-mono">{shortId(it.id)}</span>
        <CopyIconButton text={it.id} label={`${t("ui.copy")} ${it.id}`} />
      </span>
    </span>
  );
  const maker = (it: MqCredential) => <span className="text-ink-2 text-sm">{makerOf(it)}</span>;
  const created = (it: MqCredential) => <span className="num text-ink-2 text-sm">{day(it.created_at)}</span>;
  const columns: Column<MqCredential>[] = [
    { key: "name", label: t("queue.name"), width: "minmax(12rem, 1.4fr)", cell: name },
    { key: "maker", label: t("queue.madeBy"), width: "minmax(9rem, 1fr)", cell: maker },
    { key: "created", label: t("queue.created"), width: "7rem", cell: created },
    {
      key: "actions",
      label: t("queue.actions", { name: "" }),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (it) => <CredentialMenu it={it} />,
    },
  ];
  return (
    <Table
      label={t("queue.credentials")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      narrow={(it) => (
        <div className="space-y-1">
          <div className="flex items-start justify-between gap-3">
            {name(it)}
            <CredentialMenu it={it} />
          </div>
          <div className="flex justify-between gap-3">
            {maker(it)}
            {created(it)}
          </div>
        </div>
      )}
    />
  );
}
