import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { Panel } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { isolation } from "./queries";

/** Whether units run images of tenants, by datacenter, and what those say that do not. */
export function Isolation() {
  const { t } = useText();
  const { datacenters } = useLoaded(isolation);
  return (
    <Panel>
      {datacenters.length === 0 && <p className="px-4 py-3 text-ink-2 text-sm">{t("health.noUnits")}</p>}
      <ul className="num text-sm">
        {datacenters.map((it) => (
          <li
            key={it.datacenter}
            className="grid gap-x-4 border-line border-b px-4 py-2 last:border-b-0 md:grid-cols-[10rem_19rem_minmax(0,1fr)]"
          >
            <span className="font-medium">{it.datacenter}</span>
            <StateMark mark={it.refusing === 0 ? "runs" : it.running === 0 ? "rests" : "moves"}>
              {t("health.isolated", { count: it.running, all: it.running + it.refusing })}
            </StateMark>
            <ul className="text-ink-2">
              {it.reports.map((report) => (
                <li key={`${report.reason} ${report.message}`}>
                  {t("health.report", { count: report.units, message: report.message })}{" "}
                  <code className="font-mono text-ink-3 text-xs">{report.reason}</code>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
