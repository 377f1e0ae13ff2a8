import { toDecimal } from "@/lib/money";
import { type Costs, sumOf } from "./report";

/** A cell that a spreadsheet neither splits nor takes for a formula. */
function cell(text: string): string {
  const harmless = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

export interface Columns<Figure extends string, Group extends Costs> {
  /** The grouping, which is the first column. */
  by: string;
  /** What each group is called, if its id does not tell. */
  nameOf?: ((group: Group) => string | null) | undefined;
  figures: readonly Figure[];
}

/** The table as a file: amounts as the API writes them, and at the end the sum by currency. */
export function csvOf<Figure extends string, Group extends Costs & Record<Figure, number>>(
  groups: readonly Group[],
  { by, nameOf, figures }: Columns<Figure, Group>,
): string {
  const named = (name: string) => (nameOf ? [name] : []);
  const head = [by, ...named("name"), ...figures, "amount", "currency"];
  const lines = groups.map((group) => [
    cell(group.group),
    ...named(cell(nameOf?.(group) ?? "")),
    ...figures.map((figure) => String(group[figure])),
    group.amount,
    group.currency ?? "",
  ]);
  const sums = [...sumOf(groups)].map(([currency, amount]) => {
    const own = groups.filter((it) => it.currency === currency);
    const sum = (figure: Figure) => own.reduce((all, it) => all + it[figure], 0);
    return [
      "total",
      ...named(""),
      ...figures.map((figure) => String(sum(figure))),
      toDecimal(amount),
      currency,
    ];
  });
  return [head, ...lines, ...sums].map((cells) => `${cells.join(",")}\r\n`).join("");
}
