import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { rowKey, totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Empty, PageHead } from "@/ui/page";
import { StockFilter } from "./filter";
import { Operations } from "./operations";
import { Repairs } from "./repairs";
import { StockTable } from "./stock-table";
import { useStock } from "./use-stock";

const UpdateDialog = lazy(() => import("./update"));
const CreateDialog = lazy(() => import("./create"));
const Bulk = lazy(() => import("./bulk"));

const route = getRouteApi("/_app/admin/stock");

export function StockPage() {
  const { t } = useText();
  const { sentences } = useFormat();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { rows, operations, open, pages } = useStock();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const name = search.name?.toLowerCase() ?? "";
  const shown = rows.filter(
    (row) =>
      (!search.datacenter || row.datacenter.name === search.datacenter) &&
      `${row.gpu_spec.name} ${row.gpu_spec.gpu_model}`.toLowerCase().includes(name),
  );
  const edited = rows.find((row) => rowKey(row) === search.edit);
  const total = totalsOf(rows);
  const count = (of: (row: (typeof rows)[number]) => string) => new Set(rows.map(of)).size;
  const show = (next: { edit?: string; open?: "create" }) =>
    void navigate({
      search: ({ edit: _, open: __, ...filter }) => ({ ...filter, ...next }),
      replace: true,
    });
  return (
    <>
      <PageHead
        title={t("stock.title")}
        actions={
          <Button onClick={() => show({ open: "create" })}>
            <Plus className="size-4" aria-hidden="true" />
            {t("stock.create")}
          </Button>
        }
      >
        {rows.length > 0 &&
          sentences([
            t("stock.sentencePlaces", {
              specs: t("stock.specs", { count: count((row) => row.gpu_spec.id) }),
              datacenters: t("stock.datacenters", { count: count((row) => row.datacenter.id) }),
            }),
            t("stock.sentenceUnits", {
              available: total.available,
              total: total.total,
              inactive: total.inactive,
            }),
            open > 0 && t("stock.sentenceOpen", { count: open }),
          ])}
      </PageHead>
      <Suspense fallback={<StockFilter rows={rows} />}>
        {chosen.size > 0 ? (
          <Bulk
            rows={rows.filter((row) => chosen.has(rowKey(row)))}
            operations={operations}
            onEnd={() => setChosen(new Set())}
          />
        ) : (
          <StockFilter rows={rows} />
        )}
      </Suspense>
      <StockTable
        rows={shown}
        operations={operations}
        chosen={chosen}
        onChoose={setChosen}
        edited={search.edit}
        empty={
          rows.length === 0 ? (
            <Empty title={t("stock.emptyTitle")}>{t("stock.emptyHint")}</Empty>
          ) : (
            <Empty title={t("stock.noneTitle")}>{t("stock.noneHint")}</Empty>
          )
        }
      />
      <Operations
        operations={operations}
        onMore={pages.hasNextPage ? () => void pages.fetchNextPage() : undefined}
      />
      <Repairs />
      <Suspense>
        {edited && (
          <UpdateDialog
            key={rowKey(edited)}
            row={edited}
            rows={rows}
            operations={operations}
            onClose={() => show({})}
          />
        )}
        {search.open === "create" && <CreateDialog onClose={() => show({})} />}
      </Suspense>
    </>
  );
}
