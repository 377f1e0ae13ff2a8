import { getRouteApi } from "@tanstack/react-router";
import type { StockRow } from "@/api/generated/types";
import { StockLegend } from "@/domain/catalogue/stock-legend";
import { useText } from "@/i18n";
import { SearchField } from "@/ui/search-field";
import { Select } from "@/ui/select";

const route = getRouteApi("/_app/admin/stock");

export function StockFilter({ rows }: { rows: readonly StockRow[] }) {
  const { t } = useText();
  const { datacenter, name } = route.useSearch();
  const navigate = route.useNavigate();
  const names = [...new Set(rows.map((row) => row.datacenter.name))].sort();
  const filter = (next: { datacenter?: string | undefined; name?: string | undefined }) =>
    void navigate({
      search: (old) => {
        const { datacenter: place, name: text } = { ...old, ...next };
        return { ...(place && { datacenter: place }), ...(text && { name: text }) };
      },
      replace: true,
    });
  return (
    <div className="mb-3 flex min-h-11 flex-wrap items-center gap-2">
      <div className="w-44 max-md:w-full">
        <Select
          label={t("stock.datacenter")}
          value={datacenter ?? ""}
          onChange={(value) => filter({ datacenter: value || undefined })}
          choices={[
            { value: "", label: t("stock.allDatacenters") },
            ...names.map((value) => ({ value, label: value })),
          ]}
        />
      </div>
      <SearchField
        label={t("stock.filterName")}
        value={name ?? ""}
        onChange={(text) => filter({ name: text || undefined })}
      />
      <div className="ml-auto max-md:ml-0">
        <StockLegend />
      </div>
    </div>
  );
}
