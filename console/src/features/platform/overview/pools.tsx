import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useText } from "@/i18n";
import { Panel } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { firstPools } from "./queries";

/** How many workers each pool has of those that it should have, and what keeps it from more. */
export function Pools() {
  const { t } = useText();
  const { data } = useQuery(firstPools);
  if (!data) return null;
  return (
    <Panel>
      {data.items.length === 0 && (
        <p className="px-4 py-3 text-ink-2 text-sm">{t("platformOverview.noPools")}</p>
      )}
      <ul className="text-sm">
        {data.items.map(({ id, name, workers, status }) => (
          <li
            key={id}
            className="grid min-h-9 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-line border-b px-4 py-1.5 last:border-b-0 md:grid-cols-[minmax(0,12rem)_6rem_9rem_minmax(0,1fr)]"
          >
            <Link
              to="/admin/pools/$id"
              params={{ id }}
              className="truncate font-medium hover:text-ultra hover:underline"
            >
              {name}
            </Link>
            <StateMark mark={status.problem ? "failed" : status.ready > 0 ? "runs" : "rests"}>
              {t("platformOverview.poolReady", { count: status.ready })}
            </StateMark>
            <span className="num text-ink-2 max-md:col-span-2">
              {workers
                ? t("platformOverview.poolWorkers", { actual: status.actual, desired: status.desired })
                : t("platformOverview.poolRegistered")}
            </span>
            {status.problem && (
              <span className="text-pretty text-vermilion max-md:col-span-2">{status.problem}</span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
