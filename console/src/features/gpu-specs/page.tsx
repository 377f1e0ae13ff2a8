import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { stock } from "@/api/catalogue";
import type { GpuSpec, GpuSpecState, StockRow } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { everyGpuSpec } from "@/api/stock";
import { useSpecText } from "@/domain/catalogue/spec-text";
import { totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ButtonLink } from "@/ui/button";
import { FilterBar, FilterLinks } from "@/ui/filter-links";
import { PriceTag } from "@/ui/money";
import { Empty, PageHead } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { allocationText } from "./facts";
import { SpecMenu } from "./spec-menu";

const route = getRouteApi("/_app/admin/gpu-specs/");

export function SpecsPage() {
  const { t } = useText();
  const { name = "", state } = route.useSearch();
  const specs = useLoaded(everyGpuSpec);
  const rows = useLoaded(stock);
  const retired = specs.filter((it) => it.state === "retired").length;
  const shown = specs.filter(
    (it) =>
      (!state || it.state === state) &&
      `${it.name} ${it.gpu_model}`.toLowerCase().includes(name.toLowerCase()),
  );
  return (
    <>
      <PageHead
        title={t("catalogue.specsTitle")}
        actions={
          <ButtonLink kind="primary" to="/admin/gpu-specs/new">
            <Plus className="size-4" aria-hidden="true" />
            {t("catalogue.newSpec")}
          </ButtonLink>
        }
      >
        {specs.length > 0 &&
          t("catalogue.specsSentence", { count: specs.length, sold: specs.length - retired, retired })}
      </PageHead>
      <Filter />
      <SpecTable
        specs={shown}
        rows={rows}
        empty={
          specs.length === 0 ? (
            <Empty title={t("catalogue.noSpecs")}>{t("catalogue.noSpecsHint")}</Empty>
          ) : (
            <Empty title={t("stock.noneTitle")}>{t("stock.noneHint")}</Empty>
          )
        }
      />
    </>
  );
}

function Filter() {
  const { t } = useText();
  const { name, state } = route.useSearch();
  const navigate = route.useNavigate();
  const states = [
    { value: undefined, label: t("catalogue.allStates") },
    { value: "active", label: t("catalogue.forSale") },
    { value: "retired", label: t("catalogue.retired") },
  ] as const;
  const searchOf = (next: { name?: string | undefined; state?: GpuSpecState | undefined }) => ({
    ...(next.name && { name: next.name }),
    ...(next.state && { state: next.state }),
  });
  return (
    <FilterBar>
      <SearchField
        label={t("stock.filterName")}
        value={name ?? ""}
        onChange={(text) => void navigate({ search: searchOf({ name: text, state }), replace: true })}
      />
      <FilterLinks
        label={t("catalogue.state")}
        links={states.map(({ value, label }) => ({
          label,
          chosen: state === value,
          link: { to: "/admin/gpu-specs", search: searchOf({ name, state: value }) },
        }))}
      />
    </FilterBar>
  );
}

function SpecTable({
  specs,
  rows,
  empty,
}: {
  specs: readonly GpuSpec[];
  rows: readonly StockRow[];
  empty: React.ReactNode;
}) {
  const { t } = useText();
  const { percent } = useFormat();
  const specText = useSpecText();
  const unitsOf = (spec: GpuSpec) => totalsOf(rows.filter((row) => row.gpu_spec.id === spec.id));
  const name = (spec: GpuSpec) => (
    <span className="block min-w-0">
      <Link
        to="/admin/gpu-specs/$id"
        params={{ id: spec.id }}
        className="block truncate font-medium font-mono text-xs hover:underline"
      >
        {spec.name}
      </Link>
      <span className="num block truncate text-2xs text-ink-3 leading-3.5">{specText(spec)}</span>
    </span>
  );
  const state = (spec: GpuSpec) => (
    <StateMark mark={spec.state === "active" ? "runs" : "rests"}>
      {t(spec.state === "active" ? "catalogue.forSale" : "catalogue.retired")}
    </StateMark>
  );
  const price = (spec: GpuSpec) => (
    <span className="text-sm">
      <PriceTag perHour={spec.price_per_hour} currency={spec.currency} />
    </span>
  );
  const units = (spec: GpuSpec) => {
    const { available, total } = unitsOf(spec);
    return total === 0 ? (
      <span className="text-ink-3 text-xs">{t("catalogue.noUnits")}</span>
    ) : (
      <Link to="/admin/stock" search={{ name: spec.name }} className="num text-sm text-ultra hover:underline">
        {t("catalogue.availableOf", { available, total })}
      </Link>
    );
  };
  const columns: Column<GpuSpec>[] = [
    { key: "name", label: t("stock.spec"), width: "minmax(10rem, 1.4fr)", cell: name },
    {
      key: "allocation",
      label: t("catalogue.allocation"),
      width: "minmax(6rem, 1fr)",
      cell: (spec) => (
        <span className="block truncate text-ink-2 text-xs">
          {allocationText(spec.allocation, t, percent)}
        </span>
      ),
    },
    { key: "state", label: t("catalogue.state"), width: "6rem", cell: state },
    { key: "units", label: t("catalogue.available"), width: "6.5rem", end: true, cell: units },
    {
      key: "hold",
      label: t("catalogue.holdShort"),
      width: "3.5rem",
      end: true,
      cell: ({ hold_price_fraction: hold }) => (
        <span className="num text-ink-2 text-sm">{hold === null ? "–" : percent(Number(hold))}</span>
      ),
    },
    { key: "price", label: t("catalogue.price"), width: "4.5rem", end: true, cell: price },
    {
      key: "actions",
      label: t("catalogue.change"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (spec) => <SpecMenu spec={spec} units={unitsOf(spec)} />,
    },
  ];
  return (
    <Table
      label={t("catalogue.specsTitle")}
      items={specs}
      columns={columns}
      rowHeight={36}
      rowKey={(spec) => spec.id}
      empty={empty}
      narrow={(spec) => (
        <div className="space-y-1.5">
          <div className="flex items-start justify-between gap-3">
            {name(spec)}
            <SpecMenu spec={spec} units={unitsOf(spec)} />
          </div>
          <div className="grid grid-cols-3 items-center gap-2">
            {state(spec)}
            <span className="text-center">{units(spec)}</span>
            <span className="text-right">{price(spec)}</span>
          </div>
        </div>
      )}
    />
  );
}
