import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel } from "@/ui/page";

export type LimitRow =
  | { label: string; text: ReactNode }
  | {
      label: string;
      /** Null for none. */
      limit: number | null;
      /** Undefined before it is read, null if it cannot be told. */
      used: number | null | undefined;
      /** Plain numbers if it is absent. */
      write?: (value: number) => string;
    };

/** What is used of each limit. */
export function LimitRows({
  label,
  rows,
  isWhole,
  noLimit,
}: {
  label: string;
  rows: readonly LimitRow[];
  /** False if what is used is the least that is known. */
  isWhole: boolean;
  noLimit?: string;
}) {
  const { t } = useText();
  return (
    <Panel>
      <dl aria-label={label} className="num text-sm">
        {rows.map((row) => (
          <div
            key={row.label}
            className="grid min-h-9 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-line border-b px-4 py-1.5 last:border-b-0 sm:grid-cols-[minmax(0,1fr)_7rem_9rem]"
          >
            <dt className="truncate text-ink-2">{row.label}</dt>
            {"text" in row ? (
              <dd className="text-right sm:col-span-2">{row.text}</dd>
            ) : (
              <>
                <dd className="max-sm:hidden">
                  {row.limit !== null && typeof row.used === "number" && (
                    <Bar used={row.used} limit={row.limit} />
                  )}
                </dd>
                <dd className="text-right">
                  <Used row={row} isWhole={isWhole} />{" "}
                  <span className="text-ink-3">
                    {row.limit === null
                      ? `· ${noLimit ?? t("platform.noLimit")}`
                      : t("platform.ofLimit", { limit: row.write?.(row.limit) ?? row.limit })}
                  </span>
                </dd>
              </>
            )}
          </div>
        ))}
      </dl>
    </Panel>
  );
}

function Used({ row, isWhole }: { row: Extract<LimitRow, { limit: number | null }>; isWhole: boolean }) {
  const { t } = useText();
  const { number } = useFormat();
  if (row.used === undefined || row.used === null)
    return <span title={row.used === null ? t("tenants.usedUnknown") : undefined}>–</span>;
  const isOver = row.limit !== null && row.used > row.limit;
  const write = row.write ?? number;
  return (
    <span className={clsx(isOver && "font-medium text-vermilion")}>
      {isWhole ? write(row.used) : t("platform.atLeast", { number: write(row.used) })}
    </span>
  );
}

function Bar({ used, limit }: { used: number; limit: number }) {
  const percent = limit === 0 ? (used > 0 ? 100 : 0) : Math.min(100, (used / limit) * 100);
  return (
    <span className="block h-1.5 overflow-hidden rounded-sm border border-line-strong">
      <span
        className={clsx(
          "block h-full",
          used > limit ? "bg-vermilion" : percent >= 80 ? "bg-ochre" : "bg-ink-3",
        )}
        style={{ width: `${percent}%` }}
      />
    </span>
  );
}
