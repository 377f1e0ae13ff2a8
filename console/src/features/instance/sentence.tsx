import { useQuery } from "@tanstack/react-query";
import type { Instance } from "@/api/generated/types";
import { recentRuns } from "@/api/instances/details";
import { isFailed, reasonOf, standingOf } from "@/domain/instances/standing";
import { queueText } from "@/domain/instances/state-cell";
import { RunningCost, RunningTime } from "@/domain/instances/ticking";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";

/** How it stands, in numbers that go on by themselves. */
export function StandingSentence({ it }: { it: Instance }) {
  const { t, language } = useText();
  const { clock, money } = useFormat();
  if (it.state === "running") return <Running it={it} />;
  if (it.queue) return <Waiting it={it} />;
  if (it.hold)
    return (
      <>
        {t("instances.heldUntil", {
          when: clock(it.hold.until),
          price: t("ui.perHour", { price: money(it.hold.price_per_hour, it.hold.currency) }),
        })}
      </>
    );
  // the box below says why, and what helps
  if (isFailed(it))
    return standingOf(it).word === "instances.notStarted" ? t("instance.notCharged") : <LastRun it={it} />;
  const reason = reasonOf(it, t, language);
  return reason ?? <LastRun it={it} />;
}

function Running({ it }: { it: Instance }) {
  const { t, language } = useText();
  const { clock } = useFormat();
  if (!it.started_at) return <>{t("instances.startUnknown")}</>;
  const stop = it.idle_stop?.stop_at;
  const reason = reasonOf(it, t, language);
  const [before = "", middle = "", after = ""] = t("instance.runningFor", {
    duration: "\u0000",
    cost: "\u0000",
  }).split("\u0000");
  return (
    <>
      {before}
      <RunningTime it={it} />
      {middle}
      <RunningCost it={it} />
      {after}
      {reason && it.reason !== "running" && ` ${reason}`}
      {stop && (
        <span className="font-medium text-ochre"> {t("instance.idleStops", { when: clock(stop) })}</span>
      )}
    </>
  );
}

function Waiting({ it }: { it: Instance }) {
  const { t } = useText();
  const now = useNow();
  return <>{t("instance.waitsFree", { place: queueText(it, now, t) })}</>;
}

function LastRun({ it }: { it: Instance }) {
  const { t } = useText();
  const { clock, duration } = useFormat();
  const { data } = useQuery(recentRuns(it.id));
  if (it.state !== "stopped") return null;
  const last = data?.find((run) => run.kind === "running" && run.ended_at);
  if (!data) return null;
  if (!last) return <>{t("instance.notLately")}</>;
  return (
    <>
      {t("instance.lastRan", {
        when: clock(last.started_at),
        duration: duration(last.seconds),
      })}
    </>
  );
}
