import { Link } from "@tanstack/react-router";
import type { Module, Replica } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { Isolation } from "./isolation";
import { health } from "./queries";
import { healthStanding } from "./standing";

/** Each module with what its replicas say of themselves. */
export function ModulesPage() {
  const { t } = useText();
  const { modules } = useLoaded(health);
  return (
    <>
      <Panel>
        <ul aria-label={t("health.modules")}>
          {modules.map((it) => (
            <li key={it.name} className="border-line border-b last:border-b-0">
              <ModuleRow it={it} />
            </li>
          ))}
        </ul>
      </Panel>
      <Section title={t("health.isolation")} hint={t("health.isolationHint")}>
        <Isolation />
      </Section>
    </>
  );
}

function ModuleRow({ it }: { it: Module }) {
  const { t } = useText();
  const { relative } = useFormat();
  const now = useNow();
  const { mark, word } = healthStanding[it.state];
  return (
    <details open={it.state !== "ok"}>
      <summary className="grid min-h-9 cursor-pointer grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 px-4 py-1.5 text-sm hover:bg-paper md:grid-cols-[10rem_9rem_9rem_7rem_minmax(0,1fr)]">
        <span className="font-medium">{it.name}</span>
        <StateMark mark={mark}>{t(word)}</StateMark>
        <span className="num truncate font-mono text-ink-2 text-xs max-md:hidden">
          {it.versions.join(", ")}
        </span>
        <span className="num text-ink-2 max-md:hidden">
          {it.lag_seconds > 0 ? t("health.lag", { count: Math.round(it.lag_seconds) }) : t("health.noLag")}
        </span>
        <span className="truncate text-ink-3 text-xs max-md:col-span-2">
          {it.last_error &&
            t("health.lastError", {
              message: it.last_error.message,
              time: relative(it.last_error.at, now),
            })}
        </span>
      </summary>
      <ul className="border-line border-t bg-paper">
        {it.replicas.map((replica) => (
          <ReplicaRow key={replica.address} it={replica} />
        ))}
      </ul>
      <p className="bg-paper px-4 pb-2 text-xs">
        <Link to="/admin/health/logs" search={{ module: it.name }} className="text-ultra hover:underline">
          {t("health.logOf", { name: it.name })}
        </Link>
      </p>
    </details>
  );
}

function ReplicaRow({ it }: { it: Replica }) {
  const { t } = useText();
  const { relative, list } = useFormat();
  const now = useNow();
  const { mark, word } = healthStanding[it.state];
  const failed = it.report?.dependencies.filter((one) => one.state === "failed") ?? [];
  const failing = it.report?.workers.filter((one) => one.state === "failing") ?? [];
  const why = [
    it.error,
    it.report?.reason,
    failed.length > 0 && t("health.noAnswerOf", { names: list(failed.map((one) => one.name)) }),
    failing.length > 0 && t("health.failing", { names: list(failing.map((one) => one.name)) }),
  ].filter((text) => typeof text === "string");
  return (
    <li className="grid gap-x-4 px-4 py-1.5 text-sm md:grid-cols-[10rem_9rem_9rem_minmax(0,1fr)]">
      <span className="font-mono text-xs leading-5">{it.address}</span>
      <StateMark mark={mark}>{t(word)}</StateMark>
      <span className="num text-ink-3 text-xs leading-5">
        {it.report && t("health.started", { time: relative(it.report.started_at, now) })}
      </span>
      <span className={mark === "failed" ? "text-vermilion" : "text-ink-2"}>
        {why.length > 0
          ? why.join(" · ")
          : it.report && t("health.depends", { names: list(it.report.dependencies.map((one) => one.name)) })}
      </span>
    </li>
  );
}
