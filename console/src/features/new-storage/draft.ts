import type { Datacenter, NewStorage, Storage, StorageQuota, StorageSpec } from "@/api/generated/types";
import { overCount, overGib } from "@/domain/storages/quota";
import { fitsSpec, isFixed, wholeGib } from "@/domain/storages/size";
import type { Text } from "@/i18n";
import type { Errors } from "@/lib/form";

/** What the form holds. Names are those of the API's fields, so that its refusals stand at them. */
export interface Draft {
  storage_spec: string;
  name: string;
  size_gib: string;
  datacenter: string;
}

export interface Known {
  specs: readonly StorageSpec[];
  datacenters: readonly Datacenter[];
  storages: readonly Storage[];
}

const FIRST_SIZE = 40;

/** Datacenters that take something new. */
export const placesOf = (datacenters: readonly Datacenter[]) =>
  datacenters.filter((it) => it.state === "active");

/** The size that the field begins with: as large as asked, within those of the specification. */
export const startSize = ({ min_size_gib, max_size_gib }: StorageSpec, wanted = FIRST_SIZE) =>
  String(Math.min(Math.max(wanted, min_size_gib), max_size_gib));

/** The first draft: the first kind, where most storages of the studio are. */
export function emptyDraft({ specs, datacenters, storages }: Known, wanted: string | undefined): Draft {
  const spec = specs.find((it) => it.name === wanted) ?? specs.find((it) => it.kind === "volume") ?? specs[0];
  const count = (name: string) => storages.filter((it) => it.datacenter === name).length;
  const [place] = placesOf(datacenters).toSorted((a, b) => count(b.name) - count(a.name));
  return {
    storage_spec: spec?.name ?? "",
    name: "",
    size_gib: spec ? startSize(spec) : "",
    datacenter: place?.name ?? "",
  };
}

/** The request body. */
export function orderOf(draft: Draft, spec: StorageSpec | undefined): NewStorage {
  const size_gib = wholeGib(draft.size_gib);
  return {
    name: draft.name.trim(),
    storage_spec: draft.storage_spec,
    ...(spec && isFixed(spec) ? {} : { size_gib: Number.isNaN(size_gib) ? null : size_gib }),
    ...(spec?.kind === "volume" && draft.datacenter && { datacenter: draft.datacenter }),
  };
}

/** What is missing before anything is sent. */
export function missingOf(
  draft: Draft,
  { spec, quota }: { spec: StorageSpec | undefined; quota: StorageQuota },
  t: Text,
): Errors<Draft> {
  const size = wholeGib(draft.size_gib);
  const sizes = spec && { min: spec.min_size_gib, max: spec.max_size_gib };
  return {
    storage_spec: spec ? undefined : t("storages.noSpecs"),
    name: !draft.name.trim()
      ? t("storages.nameMissing")
      : draft.name.trim().length > 100
        ? t("storages.nameLength")
        : overCount(quota, t),
    size_gib:
      spec && sizes && !fitsSpec(size, spec) ? t("storages.sizeWrong", sizes) : overGib(quota, size, t),
  };
}
