import type { UsageGroup } from "@/api/generated/types";
import { toDecimal } from "@/lib/money";
import type { Grouping } from "./choices";
import { secondsOf, sumOf } from "./report";

/** A cell that a spreadsheet neither splits nor takes for a formula. */
function cell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** The table as a file: amounts as the API writes them, and at the end the sum by currency. */
export function csvOf(
  groups: readonly UsageGroup[],
  by: Grouping,
  nameOf: (group: UsageGroup) => string | null,
): string {
  const isNamed = by === "instance";
  const head = [by, ...(isNamed ? ["name"] : []), "running_seconds", "held_seconds", "amount", "currency"];
  const line = (
    first: string,
    name: string,
    running: number,
    held: number,
    amount: string,
    currency: string,
  ) => [cell(first), ...(isNamed ? [cell(name)] : []), String(running), String(held), amount, currency];
  const lines = groups.map((group) =>
    line(
      group.group,
      nameOf(group) ?? "",
      group.running_seconds,
      group.held_seconds,
      group.amount,
      group.currency,
    ),
  );
  const sums = [...sumOf(groups)].map(([currency, amount]) => {
    const own = groups.filter((it) => it.currency === currency);
    return line(
      "total",
      "",
      secondsOf(own, "running_seconds"),
      secondsOf(own, "held_seconds"),
      toDecimal(amount),
      currency,
    );
  });
  return [head, ...lines, ...sums].map((cells) => `${cells.join(",")}\r\n`).join("");
}
