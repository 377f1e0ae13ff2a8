import { useText } from "@/i18n";
import { Panel, Section } from "@/ui/page";

/** What a message needs to become a job. */
export function Rules({ queue }: { queue: string }) {
  const { t } = useText();
  const rules: [string, string][] = [
    [t("queue.ruleExchange"), t("queue.ruleExchangeHint")],
    [t("queue.ruleUser"), t("queue.ruleUserHint")],
    [t("queue.ruleReqNo"), t("queue.ruleReqNoHint")],
    [t("queue.ruleType"), t("queue.ruleTypeHint")],
    [t("queue.rulePriority"), t("queue.rulePriorityHint")],
    [t("queue.ruleMore"), t("queue.ruleMoreHint")],
    [t("queue.ruleBody"), t("queue.ruleBodyHint")],
    [t("queue.ruleConfirm"), t("queue.ruleConfirmHint")],
    [t("queue.ruleEvents"), t("queue.ruleEventsHint", { queue })],
    [t("queue.ruleLimits"), t("queue.ruleLimitsHint")],
  ];
  return (
    <Section title={t("queue.rules")} hint={t("queue.rulesHint")}>
      <Panel>
        <dl className="divide-y divide-line text-sm">
          {rules.map(([name, hint]) => (
            <div key={name} className="grid gap-x-6 px-4 py-2.5 md:grid-cols-[14rem_minmax(0,1fr)]">
              <dt className="font-medium">{name}</dt>
              <dd className="min-w-0 max-w-[68ch] break-words text-ink-2">{hint}</dd>
            </div>
          ))}
        </dl>
      </Panel>
    </Section>
  );
}
