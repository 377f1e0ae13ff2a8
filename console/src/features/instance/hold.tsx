import type { Instance, InstanceHold } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useInstanceActs, whyNotNow } from "@/domain/instances/acts";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { costOf } from "@/lib/money";
import { Button } from "@/ui/button";
import { Panel, Row, Section } from "@/ui/page";

/** The kept GPU: until when, what it has cost, and how it is given up. */
export function HoldBox({ it, hold }: { it: Instance; hold: InstanceHold }) {
  const { t } = useText();
  const { clock, money, duration } = useFormat();
  const me = useMe();
  const act = useInstanceActs();
  const now = useNow();
  const seconds = hold.since ? Math.max(0, (now - Date.parse(hold.since)) / 1000) : null;
  const left = duration((Date.parse(hold.until) - now) / 1000);
  return (
    <Section title={t("instance.kept")}>
      <Panel>
        <Row
          title={
            <span className="num font-medium">
              {t("instance.keptUntil", { when: clock(hold.until), left })}
            </span>
          }
          hint={
            <span className="num">
              {t("ui.perHour", { price: money(hold.price_per_hour, hold.currency) })}
              {seconds !== null &&
                ` · ${t("instance.soFar", { cost: money(costOf(hold.price_per_hour, seconds), hold.currency) })}`}
            </span>
          }
        >
          <Button disabled={whyNotNow(me, it, "release", t)} onClick={() => act("release", it)}>
            {t("instances.release")}
          </Button>
        </Row>
      </Panel>
    </Section>
  );
}
