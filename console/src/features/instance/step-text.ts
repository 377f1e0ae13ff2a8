import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import type { Step } from "./timeline";

interface Known {
  storages: readonly string[];
  actor: string | null;
  /** What answers: "WebUI". */
  service: string | null;
  node: string | null;
}

/** The words of a step, in the reader's language. */
export function useStepText({ storages, actor, service, node }: Known) {
  const { t } = useText();
  const { list, seconds } = useFormat();
  return (step: Step): { title: string; detail: string | null } => {
    const { event } = step;
    switch (step.kind) {
      case "asked":
        return {
          title: t(event?.type === "instance.restart_requested" ? "instance.askedRestart" : "instance.asked"),
          detail: actor && t("instance.askedBy", { name: actor }),
        };
      case "claimed":
        if (event?.type !== "instance.unit_claimed") return { title: t("instance.claim"), detail: null };
        return { title: t("instance.claimed"), detail: node ?? event.data.datacenter };
      case "storages":
        return {
          title: t(event ? "instance.storagesAttached" : "instance.storagesAttach"),
          detail: storages.length > 0 ? list(storages) : null,
        };
      case "working":
        return { title: t("instance.working"), detail: null };
      case "ready":
        if (step.state === "failed") return { title: t("instance.startFailed"), detail: null };
        return {
          title: service ? t("instance.answers", { service }) : t("instance.serviceAnswers"),
          detail:
            event?.type === "instance.started" ? t("instance.charged", { when: seconds(event.time) }) : null,
        };
      case "after":
        return { title: t(afterOf(step)), detail: null };
    }
  };
}

function afterOf({ event }: Step) {
  switch (event?.type) {
    case "instance.interrupted":
      return "instance.interrupted" as const;
    case "instance.recovered":
      return "instance.recovered" as const;
    case "instance.failed":
      return "instance.failedLater" as const;
    case "instance.recalled":
      return "instance.recalled" as const;
    case "instance.idle_stop_announced":
      return "instance.idleAnnounced" as const;
    case "instance.stop_requested":
      return "instance.stopAsked" as const;
    case "instance.hold_started":
      return "instance.holdStarted" as const;
    case "instance.hold_ended":
      return "instance.holdEnded" as const;
    default:
      return "instance.stopped" as const;
  }
}
