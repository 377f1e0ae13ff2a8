import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { X } from "lucide-react";
import { datacenters } from "@/api/catalogue";
import type { TenantId, UnitState } from "@/api/generated/types";
import { everyGpuSpec, tenantNames } from "@/api/stock";
import { useUnitWords } from "@/domain/catalogue/unit-state";
import { unitStates } from "@/domain/catalogue/unit-states";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { SearchField } from "@/ui/search-field";
import { Select } from "@/ui/select";

const route = getRouteApi("/_app/admin/units/");

/** All of it is in the address. */
export function UnitFilter() {
  const { t } = useText();
  const words = useUnitWords();
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const { data: specs = [] } = useQuery(everyGpuSpec);
  const { data: places = [] } = useQuery(datacenters);
  const { data: tenants } = useQuery(tenantNames);
  const set = (next: Partial<Record<keyof typeof filter, string>>) => {
    const wanted = Object.entries({ ...filter, ...next }).filter(([, value]) => value);
    void navigate({ search: Object.fromEntries(wanted), replace: true });
  };
  const { tenant_id, instance_id } = filter;
  return (
    <div className="mb-3 flex flex-wrap items-center gap-2 [&>span]:w-44 max-md:[&>span]:w-full">
      <span>
        <Select
          label={t("stock.spec")}
          value={filter.gpu_spec ?? ""}
          onChange={(gpu_spec) => set({ gpu_spec })}
          choices={[
            { value: "", label: t("stock.allSpecs") },
            ...specs.map(({ name }) => ({ value: name, label: name })),
          ]}
        />
      </span>
      <span>
        <Select
          label={t("stock.datacenter")}
          value={filter.datacenter ?? ""}
          onChange={(datacenter) => set({ datacenter })}
          choices={[
            { value: "", label: t("stock.allDatacenters") },
            ...places.map(({ name }) => ({ value: name, label: name })),
          ]}
        />
      </span>
      <span>
        <Select<UnitState | "">
          label={t("stock.state")}
          value={filter.state ?? ""}
          onChange={(state) => set({ state })}
          choices={[
            { value: "", label: t("stock.allStates") },
            ...unitStates.map((value) => ({ value, label: words.state(value) })),
          ]}
        />
      </span>
      <span>
        <Select<TenantId | "">
          label={t("stock.holder")}
          value={tenant_id ?? ""}
          onChange={(tenant) => set({ tenant_id: tenant })}
          choices={[
            { value: "", label: t("stock.allHolders") },
            ...(tenant_id && !tenants?.has(tenant_id)
              ? [{ value: tenant_id, label: shortId(tenant_id) }]
              : []),
            ...[...(tenants ?? [])].map(([value, label]) => ({ value, label })),
          ]}
        />
      </span>
      <SearchField
        label={t("stock.filterNode")}
        value={filter.node ?? ""}
        onChange={(node) => set({ node })}
      />
      {instance_id && (
        <button
          type="button"
          onClick={() => set({ instance_id: "" })}
          aria-label={t("stock.anyInstance", { id: shortId(instance_id) })}
          className="flex h-8 cursor-pointer items-center gap-1.5 rounded-md bg-wash px-2.5 text-sm hover:bg-line max-md:h-10"
        >
          {t("stock.ofInstance")} <span className="font-mono text-xs">{shortId(instance_id)}</span>
          <X className="size-4 text-ink-3" aria-hidden="true" />
        </button>
      )}
    </div>
  );
}
