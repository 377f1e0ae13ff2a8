import type { DatacenterRef, GpuSpecRef, Operation, StockRow, UnitReason } from "@/api/generated/types";
import type { StockCounts } from "@/ui/stock-bar";

/** A row by its specification and datacenter, as addresses name it. */
export const rowKey = ({ gpu_spec, datacenter }: { gpu_spec: GpuSpecRef; datacenter: DatacenterRef }) =>
  `${gpu_spec.name}@${datacenter.name}`;

export function totalsOf(rows: readonly StockRow[]): StockCounts & { total: number } {
  const sum = (of: (row: StockRow) => number) => rows.reduce((total, row) => total + of(row), 0);
  return {
    available: sum((row) => row.available),
    inactive: sum((row) => row.inactive),
    used: sum((row) => row.used),
    total: sum((row) => row.total),
  };
}

export interface FailedUnit {
  unit_id: string;
  reason: UnitReason;
  message: string;
}

/** Members of the progress of an addition or a removal. */
export interface StockProgress {
  requested: number;
  made: number;
  held: number;
  removed: number;
  failed_count: number;
  failed: FailedUnit[];
  gpu_spec: GpuSpecRef;
  datacenter: DatacenterRef;
}

export interface StockOperation extends Omit<Operation, "progress" | "kind"> {
  kind: "add_stock" | "remove_stock";
  progress: StockProgress;
}

const isStockOperation = (operation: Operation): operation is Operation & StockOperation =>
  (operation.kind === "add_stock" || operation.kind === "remove_stock") && "gpu_spec" in operation.progress;

export const stockOperationsOf = (operations: readonly Operation[]): StockOperation[] =>
  operations.filter(isStockOperation);

export const isOpen = ({ state }: Pick<Operation, "state">) => state === "pending" || state === "running";

/** Units that are what the operation asks of them. */
export const doneOf = ({ kind, progress }: StockOperation) =>
  kind === "add_stock" ? progress.held : progress.removed;

/** Units that the operation gave up: no object of theirs is in the cluster, so they do not come by themselves. */
export const withdrawnOf = ({ kind, state, progress }: StockOperation) =>
  kind === "add_stock" && state === "failed" ? progress.requested - progress.made : 0;

/** Units that additions in progress still bring to a row. */
export const onTheirWay = (operations: readonly StockOperation[], row: StockRow) =>
  operations
    .filter(
      (it) =>
        isOpen(it) &&
        it.kind === "add_stock" &&
        it.progress.gpu_spec.id === row.gpu_spec.id &&
        it.progress.datacenter.id === row.datacenter.id,
    )
    .reduce((sum, it) => sum + it.progress.requested - it.progress.held, 0);
