import { useQuery } from "@tanstack/react-query";
import type { Dependency, PlatformHealth } from "@/api/generated/types";
import { platformHealth } from "@/api/stock";
import { useText } from "@/i18n";
import { Ring } from "@/ui/state";

export interface Answer extends Dependency {
  /** The service that asked. */
  module: string;
}

/** How the cluster answers the services that call it, those that get no answer first. */
export const answersOf = (health: PlatformHealth | undefined, cluster: string): Answer[] =>
  (health?.modules ?? [])
    .flatMap(({ name, replicas }) =>
      replicas.flatMap(({ report }) =>
        (report?.dependencies ?? [])
          .filter((it) => it.kind === "cluster" && it.name === `cluster:${cluster}`)
          .map((it) => ({ ...it, module: name })),
      ),
    )
    .sort((a, b) => Number(a.state === "ok") - Number(b.state === "ok"));

/** The same by service: its worst answer, and how many of its replicas get none. */
export const answersByModule = (answers: readonly Answer[]) =>
  [...Map.groupBy(answers, (it) => it.module)].map(([module, own]) => ({
    module,
    worst: own.find((it) => it.state !== "ok") ?? own[0],
    silent: own.filter((it) => it.state !== "ok").length,
    count: own.length,
  }));

/** The cluster's name, and whether it answers: unknown is not "ok". */
export function ClusterMark({ cluster }: { cluster: string }) {
  const { t } = useText();
  const { data } = useQuery(platformHealth);
  const [worst] = answersOf(data, cluster);
  const isSilent = worst?.state === "failed";
  return (
    <span className="flex min-w-0 items-center gap-2 text-xs">
      <Ring mark={worst ? (isSilent ? "failed" : "runs") : "rests"} />
      <span className="truncate font-mono">{cluster}</span>
      <span className={isSilent ? "whitespace-nowrap text-vermilion" : "num whitespace-nowrap text-ink-3"}>
        {!worst
          ? "–"
          : isSilent
            ? t("catalogue.silent")
            : t("catalogue.answersIn", { ms: Math.round(worst.latency_ms ?? 0) })}
      </span>
    </span>
  );
}
