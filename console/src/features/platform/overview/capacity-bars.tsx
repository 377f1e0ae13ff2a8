import { Link } from "@tanstack/react-router";
import { useText } from "@/i18n";
import { Panel } from "@/ui/page";
import { StockBar } from "@/ui/stock-bar";
import type { Capacity } from "./capacity";

const parts = ["used", "available", "inactive"] as const;

/** Used, available and inactive units of each datacenter as one ruled bar with its numbers. */
export function CapacityBars({ places }: { places: readonly Capacity[] }) {
  const { t } = useText();
  const words = {
    used: t("platformOverview.used"),
    available: t("platformOverview.available"),
    inactive: t("platformOverview.inactive"),
  };
  return (
    <Panel>
      {places.length === 0 && <p className="px-4 py-3 text-ink-2 text-sm">{t("platformOverview.noStock")}</p>}
      <ul>
        {places.map((it) => (
          <li
            key={it.datacenter}
            className="grid items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2.5 text-sm last:border-b-0 md:grid-cols-[6rem_minmax(0,1fr)_17rem]"
          >
            <span className="font-medium">
              <Link
                to="/admin/datacenters/$id"
                params={{ id: it.id }}
                className="hover:text-ultra hover:underline"
              >
                {it.datacenter}
              </Link>
              {it.draining && (
                <span className="ml-2 font-normal text-ochre text-xs">{t("platformOverview.draining")}</span>
              )}
            </span>
            <StockBar counts={it} label={parts.map((key) => `${it[key]} ${words[key]}`).join(", ")} />
            <span className="num grid grid-cols-3 gap-x-3 md:text-right">
              {parts.map((key) => (
                <span key={key} className="whitespace-nowrap">
                  {it[key]} <span className="text-ink-3 text-xs">{words[key]}</span>
                </span>
              ))}
            </span>
            {it.soldOut > 0 && (
              <span className="text-ochre text-xs md:col-span-2 md:col-start-2">
                {t("platformOverview.soldOut", { count: it.soldOut })}
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
