import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { lazy, Suspense } from "react";
import type { StorageSpec } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { everyStorageSpec } from "@/api/stock";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Empty, PageHead } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { useSizeText } from "./size-text";
import { StorageSpecMenu } from "./spec-menu";

const NewDialog = lazy(() => import("./new"));
const EditDialog = lazy(() => import("./edit"));

const route = getRouteApi("/_app/admin/storage-specs");

export function StorageSpecsPage() {
  const { t } = useText();
  const specs = useLoaded(everyStorageSpec);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const show = (next: typeof search) => void navigate({ search: next, replace: true });
  const count = (kind: StorageSpec["kind"]) =>
    specs.filter((it) => it.kind === kind && it.state === "active").length;
  const edited = specs.find((it) => it.name === search.edit);
  return (
    <>
      <PageHead
        title={t("catalogue.storageTitle")}
        actions={
          <Button kind="primary" onClick={() => show({ open: "new" })}>
            <Plus className="size-4" aria-hidden="true" />
            {t("catalogue.newStorageSpec")}
          </Button>
        }
      >
        {specs.length > 0 &&
          t("catalogue.storageSentence", {
            volumes: t("catalogue.volumes", { count: count("volume") }),
            buckets: t("catalogue.buckets", { count: count("bucket") }),
            retired: specs.filter((it) => it.state === "retired").length,
          })}
      </PageHead>
      <StorageSpecs specs={specs} onEdit={(name) => show({ edit: name })} />
      <Suspense>
        {search.open === "new" && <NewDialog onClose={() => show({})} />}
        {edited && <EditDialog key={edited.id} id={edited.id} onClose={() => show({})} />}
      </Suspense>
    </>
  );
}

function StorageSpecs({ specs, onEdit }: { specs: readonly StorageSpec[]; onEdit: (name: string) => void }) {
  const { t } = useText();
  const { money } = useFormat();
  const sizeText = useSizeText();
  const kind = (spec: StorageSpec) => t(spec.kind === "volume" ? "catalogue.volume" : "catalogue.bucket");
  const more = (spec: StorageSpec) =>
    spec.kind === "volume"
      ? [
          spec.storage_class ?? t("catalogue.defaultClass"),
          t(spec.access_mode === "read_write_many" ? "catalogue.manyNodes" : "catalogue.oneNode"),
        ].join(" · ")
      : t("catalogue.objectStore");
  const name = (spec: StorageSpec) => (
    <span className="block truncate font-medium font-mono text-xs">{spec.name}</span>
  );
  const state = (spec: StorageSpec) => (
    <StateMark mark={spec.state === "active" ? "runs" : "rests"}>
      {t(spec.state === "active" ? "catalogue.forSale" : "catalogue.retired")}
    </StateMark>
  );
  const price = (spec: StorageSpec) => (
    <span className="num whitespace-nowrap text-sm">
      {t("catalogue.perGibMonth", { price: money(spec.price_per_gib_month, spec.currency) })}
    </span>
  );
  const menu = (spec: StorageSpec) => <StorageSpecMenu spec={spec} onEdit={() => onEdit(spec.name)} />;
  const columns: Column<StorageSpec>[] = [
    { key: "name", label: t("catalogue.name"), width: "minmax(5rem, 1fr)", cell: name },
    {
      key: "kind",
      label: t("catalogue.kind"),
      width: "5rem",
      cell: (spec) => <span className="text-sm">{kind(spec)}</span>,
    },
    {
      key: "more",
      label: t("catalogue.storageClass"),
      width: "minmax(6rem, 1.4fr)",
      cell: (spec) => <span className="block truncate text-ink-2 text-xs">{more(spec)}</span>,
    },
    {
      key: "size",
      label: t("catalogue.sizes"),
      width: "minmax(6.5rem, 1fr)",
      cell: (spec) => <span className="num text-sm">{sizeText(spec)}</span>,
    },
    { key: "state", label: t("catalogue.state"), width: "6rem", cell: state },
    { key: "price", label: t("catalogue.price"), width: "9rem", end: true, cell: price },
    {
      key: "actions",
      label: t("catalogue.change"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("catalogue.storageTitle")}
      items={specs}
      columns={columns}
      rowHeight={36}
      rowKey={(spec) => spec.id}
      empty={<Empty title={t("catalogue.noStorageSpecs")}>{t("catalogue.noStorageSpecsHint")}</Empty>}
      narrow={(spec) => (
        <div className="space-y-1.5">
          <div className="flex items-start justify-between gap-3">
            <span className="min-w-0">
              {name(spec)}
              <span className="block truncate text-ink-3 text-xs">
                {kind(spec)} · {sizeText(spec)}
              </span>
            </span>
            {menu(spec)}
          </div>
          <div className="flex items-center justify-between gap-3">
            {state(spec)}
            {price(spec)}
          </div>
        </div>
      )}
    />
  );
}
