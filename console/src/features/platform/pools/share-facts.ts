import type { Share } from "@/api/generated/types";
import type { Fact } from "@/domain/catalogue/changed";
import { useText } from "@/i18n";
import { defaults } from "./share-table";

/** A share in words; what is absent is the default. */
export function useShareFacts() {
  const { t } = useText();
  return ({
    weight = defaults.weight,
    guarantee = defaults.guarantee,
    limit = null,
    urgent = defaults.urgent,
  }: Share): Fact[] => [
    { key: "weight", label: t("pools.weight"), value: String(weight) },
    { key: "guarantee", label: t("pools.guarantee"), value: String(guarantee) },
    { key: "limit", label: t("pools.limit"), value: limit === null ? t("platform.noLimit") : String(limit) },
    { key: "urgent", label: t("pools.urgentMost"), value: String(urgent) },
  ];
}
