import { getRouteApi } from "@tanstack/react-router";
import type { StorageKind, StorageState } from "@/api/generated/types";
import type { StorageFilter, StorageSort } from "@/api/storages/cache";
import type { StorageSearch } from "@/domain/storages/filter";
import { useText } from "@/i18n";
import { FilterLinks } from "@/ui/filter-links";
import { OrderSelect } from "@/ui/order-select";
import { SearchField } from "@/ui/search-field";

const route = getRouteApi("/_app/storages/");

/** Those that people look for; others, and several, can be given in the address. */
const offered = ["available", "failed"] as const satisfies StorageState[];
const kinds = ["volume", "bucket"] as const satisfies StorageKind[];

export function Filter({ filter }: { filter: StorageFilter }) {
  const { t } = useText();
  const navigate = route.useNavigate();
  const stateWords: Record<StorageState, string> = {
    pending: t("storages.creating"),
    available: t("storages.ready"),
    resizing: t("storages.growing"),
    failed: t("storages.failed"),
    deleting: t("storages.deleting"),
  };
  const kindWords = { volume: t("storages.volumes"), bucket: t("storages.buckets") };
  const asked = filter.states?.join(",") ?? "";
  const choices: (readonly StorageState[])[] = [[], ...offered.map((state) => [state])];
  if (!choices.some((choice) => choice.join(",") === asked)) choices.push(filter.states ?? []);
  /** Those that are left out are as before. */
  const search = (change: StorageSearch): StorageSearch => {
    const { kind, name, state, sort } = { ...filter, state: asked, ...change };
    return {
      ...(kind && { kind }),
      ...(state && { state }),
      ...(name && { name }),
      ...(sort && { sort }),
    };
  };
  const go = (change: StorageSearch) => void navigate({ search: search(change), replace: true });
  return (
    <div className="mb-3 flex min-h-11 flex-wrap items-center gap-x-4 gap-y-2">
      <SearchField
        label={t("storages.filterName")}
        value={filter.name ?? ""}
        onChange={(name) => go({ name })}
      />
      <FilterLinks
        label={t("storages.filterKind")}
        links={([undefined, ...kinds] as const).map((kind) => ({
          label: kind ? kindWords[kind] : t("storages.all"),
          chosen: filter.kind === kind,
          link: { to: "/storages", search: search({ kind }) },
        }))}
      />
      <span className="h-5 w-px bg-line max-md:hidden" aria-hidden="true" />
      <FilterLinks
        label={t("storages.filterState")}
        links={choices.map((choice) => {
          const state = choice.join(",");
          return {
            label: choice.map((one) => stateWords[one]).join(" + ") || t("storages.anyState"),
            chosen: state === asked,
            link: { to: "/storages", search: search({ state }) },
          };
        })}
      />
      <OrderSelect<StorageSort>
        value={filter.sort ?? "-created_at"}
        choices={[
          { value: "-created_at", label: t("storages.newest") },
          { value: "created_at", label: t("storages.oldest") },
          { value: "name", label: t("storages.byName") },
          { value: "-name", label: t("storages.byNameDown") },
          { value: "-size_gib", label: t("storages.largestFirst") },
          { value: "size_gib", label: t("storages.smallestFirst") },
        ]}
        onChange={(sort) => go({ sort })}
      />
    </div>
  );
}
