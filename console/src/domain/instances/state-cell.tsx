import type { Instance } from "@/api/generated/types";
import { type Text, useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { useChanged } from "@/lib/use-changed";
import { StateMark } from "@/ui/state";
import { reasonOf, standingOf } from "./standing";

/** Its state in a word, and why below. A change that came by itself gets a wash that fades. */
export function StateCell({ it }: { it: Instance }) {
  const { t } = useText();
  const standing = standingOf(it);
  const changed = useChanged(`${it.state} ${standing.word}`);
  return (
    <span
      key={changed}
      className={`-mx-1.5 block min-w-0 rounded-md px-1.5 ${changed > 0 ? "animate-[settle_1.5s_ease-out]" : ""}`}
    >
      <StateMark mark={standing.mark} reason={hasWhy(it) && <Why it={it} />}>
        {t(standing.word)}
      </StateMark>
    </span>
  );
}

const hasWhy = (it: Instance) =>
  Boolean(it.queue || it.hold || it.idle_stop?.stop_at || it.reason || it.message);

/** Place in the queue, the end of a hold, an announced stop, else the reason. */
export function Why({ it }: { it: Instance }) {
  const { t, language } = useText();
  const { clock, money } = useFormat();
  if (it.queue) return <QueueText it={it} />;
  if (it.hold) {
    const price = t("ui.perHour", { price: money(it.hold.price_per_hour, it.hold.currency) });
    return <>{t("instances.heldUntil", { when: clock(it.hold.until), price })}</>;
  }
  if (it.idle_stop?.stop_at)
    return (
      <span className="font-medium text-ochre">
        {t("instances.idleStop", { when: clock(it.idle_stop.stop_at) })}
      </span>
    );
  const reason = reasonOf(it, t, language) ?? "";
  // the whole sentence is on the page of the instance
  return (
    <span className="line-clamp-2" title={reason}>
      {reason}
    </span>
  );
}

function QueueText({ it }: { it: Instance }) {
  const { t } = useText();
  return <>{queueText(it, useNow(), t)}</>;
}

/** "Place 3 of 5, in about 12 min". What is not known is left out. */
export function queueText({ queue }: Pick<Instance, "queue">, now: number, t: Text): string {
  if (!queue?.is_known || queue.position === null) return t("instances.queueUnknown");
  const place = t("instances.place", { position: queue.position, length: queue.length ?? queue.position });
  if (!queue.estimate) return place;
  const minutes = Math.max(1, Math.round((Date.parse(queue.estimate.starts_at) - now) / 60_000));
  return t("instances.placeSoon", { place, minutes });
}
