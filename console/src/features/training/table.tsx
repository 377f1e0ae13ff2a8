import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Job, Model } from "@/api/generated/types";
import { useWhyNot } from "@/app/roles";
import { useAsked } from "@/domain/jobs/asked";
import { CostCell } from "@/domain/jobs/cost";
import { MakePictures } from "@/domain/models/make-pictures";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { type Column, Table } from "@/ui/table";
import { StateCell } from "./state-cell";

export function TrainingTable({
  items,
  models,
  empty,
  onEnd,
}: {
  items: readonly Job[];
  models: readonly Model[];
  empty: ReactNode;
  onEnd: (() => void) | undefined;
}) {
  const { t } = useText();
  const { relative } = useFormat();
  const now = useNow();
  const reason = useWhyNot("jobs.write");
  const modelOf = (it: Job) => models.find((one) => one.id === it.model_id);
  const name = (it: Job) => <NameCell it={it} model={modelOf(it)} />;
  const state = (it: Job) => <StateCell it={it} model={modelOf(it)} />;
  const use = (it: Job) =>
    it.model_id &&
    modelOf(it) &&
    !reason && (
      <MakePictures small model={it.model_id}>
        {t("training.pictures")}
      </MakePictures>
    );
  const columns: Column<Job>[] = [
    { key: "name", label: t("jobs.training"), width: "minmax(9rem, 1.2fr)", cell: name },
    { key: "state", label: t("jobs.state"), width: "minmax(10rem, 1.4fr)", cell: state },
    {
      key: "submitted",
      label: t("training.started"),
      width: "7.5rem",
      cell: (it) => <span className="num text-ink-2 text-sm">{relative(it.created_at, now)}</span>,
    },
    { key: "cost", label: t("jobs.cost"), width: "5.5rem", cell: (it) => <CostCell it={it} /> },
    { key: "use", label: t("training.pictures"), hiddenLabel: true, width: "7.5rem", end: true, cell: use },
  ];
  return (
    <Table
      label={t("training.title")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      onEnd={onEnd}
      narrow={(it) => (
        <div className="space-y-2">
          <div className="flex items-start justify-between gap-3">
            {name(it)}
            <CostCell it={it} />
          </div>
          <div className="flex items-end justify-between gap-3">
            {state(it)}
            {use(it)}
          </div>
        </div>
      )}
    />
  );
}

function NameCell({ it, model }: { it: Job; model: Model | undefined }) {
  const { name, order, isKnown } = useAsked(it);
  const base = model?.base_model ?? order?.parameters.base_model;
  return (
    <span className="block min-w-0">
      <Link to="/training/$id" params={{ id: it.id }} className="block truncate font-medium hover:underline">
        {model?.name ?? name}
      </Link>
      {(base || isKnown) && (
        <span className="block truncate font-mono text-ink-3 text-xs">
          {base ? String(base) : shortId(it.id)}
        </span>
      )}
    </span>
  );
}
