import type { UnitReason, UnitState } from "@/api/generated/types";
import { useText } from "@/i18n";
import type { Mark } from "@/ui/state";

export const unitMarks: Record<UnitState, Mark> = {
  available: "rests",
  used: "runs",
  inactive: "failed",
  making: "moves",
  removing: "moves",
};

/** States and reasons of units in words. */
export function useUnitWords() {
  const { t } = useText();
  const states: Record<UnitState, string> = {
    available: t("stock.available"),
    used: t("stock.used"),
    inactive: t("stock.inactive"),
    making: t("stock.making"),
    removing: t("stock.beingRemoved"),
  };
  const reasons: Record<UnitReason, string> = {
    scheduling: t("stock.reasons.scheduling"),
    unschedulable: t("stock.reasons.unschedulable"),
    node_lost: t("stock.reasons.node_lost"),
    node_cordoned: t("stock.reasons.node_cordoned"),
    preempted: t("stock.reasons.preempted"),
    place_lost: t("stock.reasons.place_lost"),
    unsupported_allocation: t("stock.reasons.unsupported_allocation"),
    invalid_spec: t("stock.reasons.invalid_spec"),
    deleting: t("stock.reasons.deleting"),
    cluster_refused: t("stock.reasons.cluster_refused"),
    cluster_unreachable: t("stock.reasons.cluster_unreachable"),
    cluster_unknown: t("stock.reasons.cluster_unknown"),
    object_missing: t("stock.reasons.object_missing"),
    adopted: t("stock.reasons.adopted"),
    occupied: t("stock.reasons.occupied"),
    not_in_time: t("stock.reasons.not_in_time"),
    removed: t("stock.reasons.removed"),
    unknown: t("stock.reasons.unknown"),
  };
  return {
    state: (state: UnitState) => states[state],
    reason: (reason: UnitReason) => reasons[reason] ?? reasons.unknown,
  };
}
