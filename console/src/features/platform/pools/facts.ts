import { useLoaded } from "@/api/query";
import { everyGpuSpec } from "@/api/stock";
import type { Fact } from "@/domain/catalogue/changed";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { applicationNames, type Draft } from "./draft";

const isWhole = (text: string) => /^\d+$/.test(text);

/** "$3.78/h" of so many firm workers; null while the price or the number is not known. */
export function useFirmPrice() {
  const { t } = useText();
  const { money } = useFormat();
  const specs = useLoaded(everyGpuSpec);
  return ({ gpu_specs }: Pick<Draft, "gpu_specs">, count: string) => {
    const spec = specs.find((it) => it.name === gpu_specs[0]);
    if (!spec || !isWhole(count)) return null;
    return t("ui.perHour", {
      price: money(parseAmount(spec.price_per_hour) * BigInt(count), spec.currency),
    });
  };
}

/** What can be changed of a pool, in words: what differs is shown before it is saved. */
export function usePoolFacts() {
  const { t } = useText();
  const { list } = useFormat();
  const priceOf = useFirmPrice();
  const firm = (draft: Draft, name: "workers.min" | "workers.max") => {
    const price = priceOf(draft, draft[name]);
    return price ? t("pools.countAndPrice", { workers: draft[name], price }) : draft[name];
  };
  return (draft: Draft): Fact[] => [
    {
      key: "applications",
      label: t("pools.applications"),
      value: list(applicationNames.filter((it) => draft.applications.includes(it))),
    },
    {
      key: "service",
      label: t("pools.service"),
      value: draft.workers
        ? `${draft["workers.service"]} ${draft["workers.version"] || t("pools.recommended")}`
        : "",
    },
    { key: "min", label: t("pools.firmLeast"), value: draft.workers ? firm(draft, "workers.min") : "" },
    { key: "max", label: t("pools.firmMost"), value: draft.workers ? firm(draft, "workers.max") : "" },
    { key: "lent", label: t("pools.lentMost"), value: draft.workers ? draft["workers.lent_max"] : "" },
    {
      key: "factors",
      label: t("pools.factors"),
      value: t("pools.factorsOf", {
        urgent: draft["level_factors.urgent"],
        ordinary: draft["level_factors.ordinary"],
        background: draft["level_factors.background"],
      }),
    },
  ];
}
