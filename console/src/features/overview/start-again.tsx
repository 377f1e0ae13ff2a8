import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Instance } from "@/api/generated/types";
import { type EndedRuns, endedRuns } from "@/api/instances/queries";
import { useMe } from "@/api/session";
import { useInstanceActs, whyNotNow } from "@/domain/instances/acts";
import { isFailed } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { PriceTag } from "@/ui/money";
import { Panel, Section } from "@/ui/page";

const SHOWN = 4;
const MINUTE = 60_000;

const lastRun = (it: Instance, ended: EndedRuns | undefined) =>
  ended?.runs.find((run) => run.instance_id === it.id)?.ended_at ?? null;

/** Those that rest, the last used first. */
export const restingOf = (items: readonly Instance[], ended: EndedRuns | undefined) =>
  items
    .filter((it) => it.state === "stopped" && !isFailed(it) && !it.managed_by)
    .map((it) => ({ it, ended_at: lastRun(it, ended) }))
    .toSorted((a, b) => (b.ended_at ?? "").localeCompare(a.ended_at ?? ""))
    .slice(0, SHOWN);

/** One press starts the last one again. */
export function StartAgain({ items }: { items: readonly Instance[] }) {
  const { t } = useText();
  const { relative } = useFormat();
  const me = useMe();
  const act = useInstanceActs();
  const { data: ended } = useQuery(endedRuns);
  const now = Math.floor(useNow() / MINUTE) * MINUTE;
  const resting = restingOf(items, ended);
  return (
    <Section title={t("overview.startAgain")}>
      <Panel>
        {resting.length === 0 && (
          <p className="px-4 py-6 text-center text-ink-2 text-sm">{t("overview.noneRests")}</p>
        )}
        <ul aria-label={t("overview.startAgain")}>
          {resting.map(({ it, ended_at }) => (
            <li
              key={it.id}
              className="flex min-h-14 items-center justify-between gap-3 border-line border-b py-2 pr-3 pl-4 last:border-b-0"
            >
              <span className="min-w-0">
                <Link
                  to="/instances/$id"
                  params={{ id: it.id }}
                  className="block truncate font-medium hover:text-ultra hover:underline"
                >
                  {it.name}
                </Link>
                <span className="num flex flex-wrap gap-x-2 text-ink-3 text-xs">
                  <span className="truncate font-mono">{it.gpu_spec.name}</span>
                  <span className="truncate">
                    {ended_at ? relative(ended_at, now) : t("overview.notLately")}
                  </span>
                </span>
              </span>
              <Button small disabled={whyNotNow(me, it, "start", t)} onClick={() => act("start", it)}>
                {t("instances.start")}
                <span className="sr-only">{it.name}</span>
                <span className="text-ink-2">
                  <PriceTag perHour={it.price_per_hour} currency={it.currency} />
                </span>
              </Button>
            </li>
          ))}
        </ul>
      </Panel>
    </Section>
  );
}
