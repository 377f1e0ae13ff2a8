import type { Storage } from "@/api/generated/types";
import { monthlyOf, type Totals } from "@/lib/money";

export interface Summary {
  count: number;
  size: number;
  /** Per month. */
  price: Totals;
  /** Volumes that are there and that nobody mounts. */
  unused: number;
  unusedPrice: Totals;
  failed: number;
}

/** How things stand, in numbers. */
export function summaryOf(items: readonly Storage[]): Summary {
  const unused = items.filter(
    (it) => it.kind === "volume" && it.state === "available" && it.attachments.length === 0,
  );
  return {
    count: items.length,
    size: items.reduce((sum, it) => sum + it.size_gib, 0),
    price: monthlyOf(items),
    unused: unused.length,
    unusedPrice: monthlyOf(unused),
    failed: items.filter((it) => it.state === "failed").length,
  };
}
