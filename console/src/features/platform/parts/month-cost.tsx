import { clsx } from "clsx";
import type { JobUsageGroup, UsageGroup } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { DayBars } from "./day-bars";
import { daysOf } from "./month";
import { totalsOf } from "./spent";

/** What the month has cost until now, of instances and of jobs, and by day. */
export function MonthCost({
  instances,
  jobs,
  label,
}: {
  instances: readonly UsageGroup[];
  jobs: readonly JobUsageGroup[];
  label: string;
}) {
  const { t } = useText();
  const { total } = useFormat();
  const now = useNow();
  const parts = [
    { name: t("platform.instancesCost"), sum: totalsOf(instances), colour: "bg-ultra" },
    { name: t("platform.jobsCost"), sum: totalsOf(jobs), colour: "bg-viridian" },
  ];
  const all = totalsOf([...instances, ...jobs]);
  const [currency = "USD"] = [...all.keys()];
  return (
    <>
      <p className="num font-medium text-xl">{all.size > 0 ? total(all) : "–"}</p>
      <ul className="num mb-3 flex flex-wrap gap-x-4 text-ink-2 text-sm">
        {parts.map(({ name, sum, colour }) => (
          <li key={name} className="flex items-center gap-1.5">
            <span className={clsx("block size-2.5 rounded-[2px]", colour)} aria-hidden="true" />
            {name} {sum.size > 0 ? total(sum) : "–"}
          </li>
        ))}
      </ul>
      <DayBars days={daysOf([instances, jobs], currency, now)} currency={currency} label={label} />
    </>
  );
}
