import { doneOf, isOpen, rowKey, type StockOperation } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { type Mark, Ring } from "@/ui/state";
import type { Result } from "./use-bulk";

/** What became of each row, while it goes on. */
export function BulkProgress({
  title,
  results,
  operations,
  onAgain,
  onClose,
}: {
  title: string;
  results: readonly Result[];
  operations: readonly StockOperation[];
  onAgain: (result: Result) => void;
  onClose: () => void;
}) {
  const { t } = useText();
  const rows = results.map((result) => {
    const operation = operations.find((it) => it.id === result.operation);
    return { result, operation, mark: markOf(result, operation) };
  });
  const count = (mark: Mark) => rows.filter((it) => it.mark === mark).length;
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={title}
      description={
        <p role="status">
          {t("stock.bulkDone", { done: count("runs"), count: rows.length })}
          {count("failed") > 0 && `, ${t("stock.bulkFailed", { count: count("failed") })}`}
        </p>
      }
      footer={
        <Button kind="primary" onClick={onClose}>
          {t("ui.done")}
        </Button>
      }
    >
      <ul className="space-y-2.5">
        {rows.map(({ result, operation, mark }) => (
          <li
            key={rowKey(result.row)}
            className="num grid grid-cols-[auto_minmax(0,1fr)_auto] items-start gap-x-2.5 text-sm"
          >
            <Ring mark={mark} className="mt-1.25" />
            <span className="min-w-0">
              <span className="font-medium font-mono text-xs">{result.row.gpu_spec.name}</span>{" "}
              <span className="text-ink-2">{t("stock.in", { datacenter: result.row.datacenter.name })}</span>{" "}
              <span className="text-ink-3">
                {operation &&
                  t("stock.doneOf", { done: doneOf(operation), count: operation.progress.requested })}
              </span>
              {result.why && <span className="block text-vermilion">{result.why}</span>}
              {operation?.state === "failed" && (
                <span className="block text-vermilion">
                  {operation.progress.failed[0]?.message ?? operation.problem?.detail}
                </span>
              )}
            </span>
            {result.state === "refused" && (
              <Button small onClick={() => onAgain(result)}>
                {t("ui.tryAgain")}
              </Button>
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  );
}

function markOf(result: Result, operation: StockOperation | undefined): Mark {
  if (result.state === "refused" || operation?.state === "failed") return "failed";
  return operation && !isOpen(operation) ? "runs" : "moves";
}
