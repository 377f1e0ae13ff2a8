import { useQueryClient } from "@tanstack/react-query";
import type { Alternative, Instance } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useMe } from "@/api/session";
import { whyNotNow } from "@/domain/instances/acts";
import { changeAndStart } from "@/domain/instances/change";
import { queueText } from "@/domain/instances/state-cell";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Panel, Row, Section } from "@/ui/page";

/** The place in the queue, why, and what could start now instead. */
export function WaitingBox({ it }: { it: Instance }) {
  const { t } = useText();
  const { clock } = useFormat();
  const client = useQueryClient();
  const take = useAct((one: Alternative, key) =>
    changeAndStart(client, it, { gpu_spec: one.gpu_spec.name }, key),
  );
  const now = useNow();
  const { queue, alternatives } = it;
  const me = useMe();
  if (!queue) return null;
  const estimate = queue.estimate;
  return (
    <Section title={t("instance.waiting")}>
      <Panel>
        <Row
          title={<span className="font-medium">{queueText(it, now, t)}</span>}
          hint={
            <>
              {t("instance.waitsFor", { gpu: queue.waiting_for.gpu_spec?.name ?? it.gpu_spec.name })}
              {queue.since && ` ${t("instance.waitsSince", { when: clock(queue.since) })}`}
              {estimate &&
                ` ${t("instance.waitsBecause", {
                  count: estimate.releases,
                  hours: Math.round(estimate.period_seconds / 3600),
                })}`}
            </>
          }
        />
        {alternatives?.map((one) => (
          <Row
            key={`${one.gpu_spec.id} ${one.datacenter.id}`}
            title={<span className="font-mono text-sm">{one.gpu_spec.name}</span>}
            hint={t("instance.doInsteadHint", { count: one.available, datacenter: one.datacenter.name })}
          >
            <AlternativeButton
              one={one}
              busy={take.variables === one}
              disabled={whyNotNow(me, it, "stop", t)}
              onTake={() => take.run(one)}
            />
          </Row>
        ))}
      </Panel>
      {take.error != null && <ErrorLine error={take.error} className="mt-3" />}
    </Section>
  );
}

function AlternativeButton({
  one,
  busy,
  disabled,
  onTake,
}: {
  one: Alternative;
  busy: boolean;
  disabled: string | false;
  onTake: () => void;
}) {
  const { t } = useText();
  const { money } = useFormat();
  const price = t("ui.perHour", { price: money(one.price_per_hour, one.currency) });
  return (
    <Button small busy={busy} disabled={disabled} onClick={onTake}>
      {t("instance.startInstead", { price })}
    </Button>
  );
}
