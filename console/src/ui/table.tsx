import { useEffect } from "react";
import { later } from "@/lib/later";
import type { TableProps } from "./table-props";
import { Few, Head, OneRow, Totals } from "./table-rows";

export type { Column, Sort } from "./table-props";

/** Above this many rows only those in view are in the page. */
const MANY = 100;
/** So many are shown until the part for many is loaded. */
const FIRST = 12;
/** For loaders of long lists, so that it comes beside the rows. */
export const manyRows = later(() => import("./many-rows"));

export function Table<Item>(props: TableProps<Item>) {
  const { label, items, columns, empty, footer } = props;
  const template = columns.map((it) => it.width).join(" ");
  const isMany = items.length > MANY || Boolean(props.onEnd);
  const ManyRows = manyRows.usePart(isMany);
  useEffect(() => {
    if (isMany) manyRows.load();
  }, [isMany]);
  if (items.length === 0) return <div className="rounded-lg border border-line bg-sheet">{empty}</div>;
  return (
    <div className="relative overflow-x-auto rounded-lg border border-line bg-sheet">
      {/* biome-ignore lint/a11y/useSemanticElements: rows in a grid, of which only those in view exist */}
      <div role="table" aria-label={label} aria-rowcount={props.onEnd ? -1 : items.length + 1}>
        <Head {...props} columns={columns} template={template} />
        {isMany && ManyRows ? (
          <ManyRows
            count={items.length}
            rowHeight={props.rowHeight ?? 56}
            keyOf={(index) => props.rowKey(items[index] as Item)}
            onEnd={props.onEnd}
            row={(index) => (
              <OneRow {...props} template={template} item={items[index] as Item} index={index} />
            )}
          />
        ) : isMany ? (
          <div role="presentation" className="max-h-[70dvh] overflow-hidden">
            <Few {...props} items={items.slice(0, FIRST)} template={template} />
          </div>
        ) : (
          <Few {...props} template={template} />
        )}
        {props.totals && <Totals {...props} totals={props.totals} template={template} />}
      </div>
      {footer && <div className="border-line border-t px-4 py-2.5 text-ink-2 text-sm">{footer}</div>}
    </div>
  );
}
