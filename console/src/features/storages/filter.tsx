import type { StorageKind, StorageState } from "@/api/generated/types";
import type { StorageFilter } from "@/api/storages/cache";
import { useText } from "@/i18n";
import { FilterLinks } from "@/ui/filter-links";

/** Those that people look for; others can be given in the address. */
const offered = ["available", "failed"] as const satisfies StorageState[];
const kinds = ["volume", "bucket"] as const satisfies StorageKind[];

export function Filter({ filter }: { filter: StorageFilter }) {
  const { t } = useText();
  const stateWords: Record<StorageState, string> = {
    pending: t("storages.creating"),
    available: t("storages.ready"),
    resizing: t("storages.growing"),
    failed: t("storages.failed"),
    deleting: t("storages.deleting"),
  };
  const kindWords = { volume: t("storages.volumes"), bucket: t("storages.buckets") };
  const states: (StorageState | undefined)[] = [undefined, ...offered];
  if (filter.state && !states.includes(filter.state)) states.push(filter.state);
  const linkTo = ({ kind, state }: StorageFilter) =>
    ({ to: "/storages", search: { ...(kind && { kind }), ...(state && { state }) } }) as const;
  return (
    <div className="mb-3 flex min-h-11 flex-wrap items-center gap-x-4 gap-y-1">
      <FilterLinks
        label={t("storages.filterKind")}
        links={([undefined, ...kinds] as const).map((kind) => ({
          label: kind ? kindWords[kind] : t("storages.all"),
          chosen: filter.kind === kind,
          link: linkTo({ ...filter, kind }),
        }))}
      />
      <span className="h-5 w-px bg-line max-md:hidden" aria-hidden="true" />
      <FilterLinks
        label={t("storages.filterState")}
        links={states.map((state) => ({
          label: state ? stateWords[state] : t("storages.anyState"),
          chosen: filter.state === state,
          link: linkTo({ ...filter, state }),
        }))}
      />
    </div>
  );
}
