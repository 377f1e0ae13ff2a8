import type { BaseModel } from "@/api/generated/types";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/button";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { type Base, basesOf } from "./search";

/** What the pools of the tenant can draw and train with. */
export function BaseTable({ items }: { items: readonly BaseModel[] }) {
  const { t } = useText();
  const { list } = useFormat();
  const name = (it: Base) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium font-mono text-sm">{it.name}</span>
      <span className="block text-ink-3 text-xs">
        {list([...(it.draws ? [t("models.draws")] : []), ...(it.trained ? [t("models.trained")] : [])])}
      </span>
    </span>
  );
  const pools = (it: Base) => (
    <span className="num block text-sm">
      {it.pools.map((pool) => (
        <span key={pool.name} className="block truncate">
          {pool.name}
          <span className="text-ink-3 text-xs">
            {" · "}
            {pool.workers > 0 ? t("models.now", { count: pool.workers }) : t("models.onNext")}
          </span>
        </span>
      ))}
    </span>
  );
  const columns: Column<Base>[] = [
    { key: "name", label: t("models.name"), width: "minmax(12rem, 1fr)", cell: name },
    { key: "pools", label: t("models.inPools"), width: "minmax(12rem, 1.4fr)", cell: pools },
    {
      key: "train",
      label: t("models.trainOn"),
      hiddenLabel: true,
      width: "7.5rem",
      end: true,
      cell: (it) => <TrainOn base={it} />,
    },
  ];
  return (
    <Table
      label={t("models.base")}
      items={basesOf(items)}
      columns={columns}
      rowKey={(it) => it.name}
      empty={<Empty title={t("models.noBase")}>{t("models.noBaseHint")}</Empty>}
      narrow={(it) => (
        <div className="space-y-1.5">
          <div className="flex items-start justify-between gap-3">
            {name(it)}
            <TrainOn base={it} />
          </div>
          {pools(it)}
        </div>
      )}
    />
  );
}

function TrainOn({ base }: { base: Base }) {
  const { t } = useText();
  const reason = useWhyNot("jobs.write");
  if (!base.trained) return null;
  const label = t("models.trainOnName", { name: base.name });
  if (reason)
    return (
      <Button small disabled={reason} aria-label={label}>
        {t("models.trainOn")}
      </Button>
    );
  return (
    <ButtonLink small to="/training/new" search={{ base: base.name }} aria-label={label}>
      {t("models.trainOn")}
    </ButtonLink>
  );
}
