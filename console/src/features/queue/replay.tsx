import { useState } from "react";
import { call } from "@/api/client";
import { replayDeadMessage } from "@/api/generated/operations";
import type { DeadMessage, Replay as Outcome } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { Button } from "@/ui/button";
import { describe } from "@/ui/error";
import { refused } from "./queries";

/** So much of a message is kept. */
export const KEPT = 65_536;

/** Takes it in as if it had just come, and says what came of it. */
export function Replay({ it }: { it: DeadMessage }) {
  const { t } = useText();
  const now = useNow();
  const { relative } = useFormat();
  const reason = useWhyNot("queue.write");
  const [outcome, setOutcome] = useState<Outcome | null>(null);
  const replay = useAct((_: void, key) => call(replayDeadMessage, { path: { id: it.id } }, { key }), {
    touches: [refused.queryKey],
    onDone: setOutcome,
  });
  const said = () => {
    if (replay.error) return describe(replay.error, t);
    switch (outcome?.outcome) {
      case "accepted":
        return t("queue.replayAccepted");
      case "duplicate":
        return t("queue.replayDuplicate");
      case "refused":
        return t("queue.replayRefused", { reason: outcome.code ? t(`queue.codes.${outcome.code}`) : "" });
      default:
        return null;
    }
  };
  const isBad = replay.error !== null || outcome?.outcome === "refused";
  return (
    <span className="block">
      <Button
        small
        disabled={reason || (it.bytes > KEPT && t("queue.replayCut"))}
        busy={replay.busy}
        aria-label={t("queue.replayOf", { id: shortId(it.id) })}
        onClick={() => {
          setOutcome(null);
          replay.run();
        }}
      >
        {t("queue.replay")}
      </Button>
      <span role="status" className={`mt-0.5 block text-xs ${isBad ? "text-vermilion" : "text-viridian"}`}>
        {said()}
      </span>
      {it.replayed_at && !outcome && (
        <span className="num block text-ink-3 text-xs">
          {t("queue.replayed", { time: relative(it.replayed_at, now) })}
        </span>
      )}
    </span>
  );
}
