import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { stock } from "@/api/catalogue";
import { call } from "@/api/client";
import { addStock } from "@/api/generated/operations";
import { useAct } from "@/api/query";
import { stockOperations } from "@/api/stock";
import { doneOf, isOpen, type StockOperation, withdrawnOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { describe } from "@/ui/error";
import { Empty, Panel, Section } from "@/ui/page";
import { type Mark, Ring } from "@/ui/state";
import { notify } from "@/ui/toast";

/** As many are shown at first. */
const FIRST = 5;

export function Operations({
  operations,
  onMore,
}: {
  operations: readonly StockOperation[];
  /** There are older ones. */
  onMore: (() => void) | undefined;
}) {
  const { t } = useText();
  const [all, setAll] = useState(false);
  const shown = all ? operations : operations.slice(0, Math.max(FIRST, operations.filter(isOpen).length));
  const hidden = operations.length - shown.length;
  return (
    <Section title={t("stock.operations")}>
      <Panel>
        {operations.length === 0 && (
          <Empty title={t("stock.noOperations")}>{t("stock.noOperationsHint")}</Empty>
        )}
        <ul className="divide-y divide-line">
          {shown.map((it) => (
            <Entry key={it.id} it={it} />
          ))}
        </ul>
      </Panel>
      {(hidden > 0 || (all && onMore)) && (
        <div className="mt-2">
          <Button small kind="quiet" onClick={() => (hidden > 0 ? setAll(true) : onMore?.())}>
            {t("stock.olderOperations")}
          </Button>
        </div>
      )}
    </Section>
  );
}

const marks: Record<StockOperation["state"], Mark> = {
  pending: "moves",
  running: "moves",
  succeeded: "rests",
  failed: "failed",
  cancelled: "rests",
};

function Entry({ it }: { it: StockOperation }) {
  const { t } = useText();
  const { clock } = useFormat();
  const { gpu_spec, datacenter, requested } = it.progress;
  const isAddition = it.kind === "add_stock";
  const done = doneOf(it);
  const again = withdrawnOf(it);
  return (
    <li className="num grid min-h-9 grid-cols-[0.625rem_minmax(0,1fr)_auto] items-center gap-x-3 px-4 py-1.5 text-sm">
      <Ring mark={marks[it.state]} />
      <span className="min-w-0">
        <Link
          to="/admin/gpu-specs/$id"
          params={{ id: gpu_spec.id }}
          className="font-medium font-mono text-xs hover:underline"
        >
          {gpu_spec.name}
        </Link>{" "}
        {t("stock.in", { datacenter: datacenter.name })}:{" "}
        {isOpen(it) ? (
          <>
            {t(isAddition ? "stock.adding" : "stock.removing", { count: requested })},{" "}
            <span className="font-medium text-ochre">{t("stock.doneOf", { done, count: requested })}</span>
          </>
        ) : it.state === "failed" ? (
          <>
            {t("stock.notHeld", { count: requested - done, requested })}
            <Failures it={it} />
          </>
        ) : (
          t(isAddition ? "stock.added" : "stock.removed", { count: requested })
        )}
      </span>
      <span className="flex items-center gap-3 whitespace-nowrap text-ink-3 text-xs max-md:col-span-2 max-md:col-start-2 max-md:mt-1">
        {clock(it.created_at)}
        {again > 0 && <Again it={it} count={again} />}
      </span>
    </li>
  );
}

/** Why units are not there, each reason once. */
function Failures({ it }: { it: StockOperation }) {
  const { t } = useText();
  const byMessage = new Map<string, number>();
  for (const { message } of it.progress.failed) byMessage.set(message, (byMessage.get(message) ?? 0) + 1);
  const { gpu_spec, datacenter } = it.progress;
  return (
    <span className="block text-xs">
      {[...byMessage].map(([message, count]) => (
        <span key={message} className="block break-words text-vermilion">
          {count > 1 ? t("stock.failedTimes", { count, message }) : message}
        </span>
      ))}
      {it.progress.made > it.progress.held && (
        <span className="block text-ink-3">
          {t("stock.staysInactive")}{" "}
          <Link
            to="/admin/units"
            search={{ gpu_spec: gpu_spec.name, datacenter: datacenter.name, state: "inactive" }}
            className="text-ultra underline"
          >
            {t("stock.seeUnits")}
          </Link>
        </span>
      )}
    </span>
  );
}

function Again({ it, count }: { it: StockOperation; count: number }) {
  const { t } = useText();
  const { gpu_spec, datacenter } = it.progress;
  const add = useAct(
    (_: void, key) =>
      call(addStock, { body: { gpu_spec: gpu_spec.id, datacenter: datacenter.id, count } }, { key }),
    {
      touches: [stock.queryKey, stockOperations.queryKey],
      onFailed: (error) => notify({ failed: true, title: gpu_spec.name, detail: describe(error, t) }),
    },
  );
  return (
    <Button small busy={add.busy} onClick={() => add.run()}>
      {t("stock.again", { count })}
    </Button>
  );
}
