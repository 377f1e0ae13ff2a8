import type { Webhook } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { StateMark } from "@/ui/state";
import { marks, standingOf } from "./standing";

/** How it is, and why. */
export function WebhookState({ it, bare }: { it: Webhook; bare?: boolean }) {
  const { t } = useText();
  const { clock } = useFormat();
  const standing = standingOf(it);
  const words = {
    works: [t("webhooks.stateWorks"), null],
    new: [t("webhooks.stateNew"), t("webhooks.stateNewHint")],
    fails: [
      t("webhooks.stateFails"),
      t("webhooks.stateFailsHint", { time: clock(it.failing_since ?? it.created_at) }),
    ],
    off: [t("webhooks.stateOff"), t("webhooks.stateOffHint")],
    failing: [t("webhooks.stateFailing"), t("webhooks.stateFailingHint")],
    gone: [t("webhooks.stateGone"), t("webhooks.stateGoneHint")],
    maker: [t("webhooks.stateMaker"), t("webhooks.stateMakerHint")],
  } as const;
  const [word, reason] = words[standing];
  return (
    <StateMark mark={marks[standing]} reason={bare ? undefined : reason}>
      {word}
    </StateMark>
  );
}
