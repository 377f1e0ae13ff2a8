import { useQuery } from "@tanstack/react-query";
import type { Datacenter } from "@/api/generated/types";
import { isolation, platformHealth } from "@/api/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel, Row, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { answersByModule, answersOf } from "./cluster-state";

/** What the platform reports of the datacenter: does its cluster answer, does it run code of tenants. */
export function Standing({ place }: { place: Datacenter }) {
  const { t } = useText();
  const { clock } = useFormat();
  const health = useQuery(platformHealth);
  const isolated = useQuery(isolation);
  const answers = answersOf(health.data, place.cluster);
  const report = isolated.data?.datacenters.find((it) => it.datacenter === place.name);
  const [first] = report?.reports ?? [];
  return (
    <Section title={t("catalogue.standing")}>
      <Panel>
        {answers.length === 0 && (
          <Row
            title={t("catalogue.cluster")}
            hint={t(health.isError ? "catalogue.healthFailed" : "catalogue.healthUnknown")}
          >
            <span className="text-ink-3">–</span>
          </Row>
        )}
        {answersByModule(answers).map(({ module, worst, silent, count }) => (
          <Row
            key={module}
            title={t("catalogue.clusterFor", { module })}
            hint={
              worst?.last_error && worst.state === "failed"
                ? t("catalogue.clusterError", {
                    message: worst.last_error.message,
                    when: clock(worst.last_error.at),
                  })
                : undefined
            }
          >
            {silent === 0 ? (
              <StateMark mark="runs">
                {t("catalogue.answersIn", { ms: Math.round(worst?.latency_ms ?? 0) })}
              </StateMark>
            ) : (
              <StateMark mark="failed">
                {silent < count ? t("catalogue.silentFor", { silent, count }) : t("catalogue.silent")}
              </StateMark>
            )}
          </Row>
        ))}
        <Row
          title={t("catalogue.isolation")}
          hint={report ? (first?.message ?? "") : t("catalogue.isolationUnknown")}
        >
          {!report ? (
            <span className="text-ink-3">–</span>
          ) : report.refusing === 0 ? (
            <StateMark mark="runs">{t("catalogue.isolated")}</StateMark>
          ) : (
            <StateMark mark={report.running === 0 ? "rests" : "moves"}>
              {report.running === 0
                ? t("catalogue.notIsolated")
                : t("catalogue.partlyIsolated", { running: report.running, refusing: report.refusing })}
            </StateMark>
          )}
        </Row>
      </Panel>
    </Section>
  );
}
