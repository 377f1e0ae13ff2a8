import { areLabels } from "@/domain/catalogue/labels";
import type { Text } from "@/i18n";
import type { Errors } from "@/lib/form";
import type { Draft } from "./draft";

const isWithin = (text: string, least: number, most: number, decimals = false) =>
  (decimals ? /^\d+(\.\d+)?$/ : /^\d+$/).test(text) && Number(text) >= least && Number(text) <= most;

const isName = (text: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
const isLabelValue = (text: string) => /^[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?$/.test(text);
/** A name with an optional domain before a slash, as Kubernetes has them. */
const isQualified = (text: string) => /^([a-z0-9.-]+\/)?[A-Za-z0-9]([\w.-]*[A-Za-z0-9])?$/.test(text);

/** What the service would refuse, before anything is sent. */
export function checkDraft(draft: Draft, t: Text): Errors<Draft> {
  const range = (least: number, most: number) => t("catalogue.range", { least, most });
  const within = (name: keyof Draft, least: number, most: number, decimals = false) =>
    isWithin(String(draft[name]), least, most, decimals) ? undefined : range(least, most);
  const usesResource = draft.kind === "device" || draft.kind === "mig" || draft.kind === "time_slice";
  return {
    name: isName(draft.name) ? undefined : t("catalogue.nameWrong"),
    gpu_model: isLabelValue(draft.gpu_model) ? undefined : t("catalogue.modelWrong"),
    gpu_count: within("gpu_count", 1, 64),
    gpu_cores: within("gpu_cores", 1, 10_000_000),
    video_memory_mib: within("video_memory_mib", 0.001, 4096, true),
    cpu_millis: within("cpu_millis", 0.001, 4096, true),
    memory_mib: within("memory_mib", 0.001, 65_536, true),
    disk_gib: within("disk_gib", 1, 1_048_576),
    price_per_hour: /^\d{1,7}(\.\d{1,6})?$/.test(draft.price_per_hour)
      ? undefined
      : t("catalogue.priceWrong"),
    currency: /^[A-Z]{3}$/.test(draft.currency) ? undefined : t("catalogue.currencyWrong"),
    hold_price_fraction: draft.holds ? within("hold_price_fraction", 0, 100, true) : undefined,
    "allocation.resource":
      !usesResource || isQualified(draft["allocation.resource"]) ? undefined : t("catalogue.resourceWrong"),
    "allocation.memory_mib":
      draft.kind === "hami" ? within("allocation.memory_mib", 0.001, 4096, true) : undefined,
    "allocation.cores": draft.kind === "hami" ? within("allocation.cores", 0, 100) : undefined,
    "allocation.device_class":
      draft.kind !== "dra" || isQualified(draft["allocation.device_class"])
        ? undefined
        : t("catalogue.classWrong"),
    "allocation.selectors":
      draft.kind === "dra" && draft["allocation.selectors"].split("\n").filter(Boolean).length > 8
        ? t("catalogue.selectorsWrong")
        : undefined,
    node_selector: areLabels(draft.node_selector) ? undefined : t("catalogue.labelsWrong"),
  };
}
