import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { services } from "@/api/catalogue";
import type { ServiceImage } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ButtonLink } from "@/ui/button";
import { Empty, PageHead } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { type Column, Table } from "@/ui/table";
import { ServiceMark } from "./service-mark";
import { ServiceMenu } from "./service-menu";

const route = getRouteApi("/_app/admin/services/");

export function ServicesPage() {
  const { t } = useText();
  const all = useLoaded(services);
  const { name = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const shown = all.filter((it) => `${it.service} ${it.version}`.includes(name.toLowerCase()));
  const names = new Set(all.map((it) => it.service));
  const recommended = new Set(all.filter((it) => it.recommended).map((it) => it.service));
  const without = [...names].filter((it) => !recommended.has(it));
  return (
    <>
      <PageHead
        title={t("catalogue.servicesTitle")}
        actions={
          <ButtonLink kind="primary" to="/admin/services/new">
            <Plus className="size-4" aria-hidden="true" />
            {t("catalogue.newService")}
          </ButtonLink>
        }
      >
        {all.length > 0 &&
          t("catalogue.servicesSentence", {
            services: t("catalogue.services", { count: names.size }),
            versions: t("catalogue.versions", { count: all.length }),
            hidden: all.filter((it) => !it.enabled).length,
          })}
        {without.length > 0 && ` ${t("catalogue.withoutRecommended", { names: without.join(", ") })}`}
      </PageHead>
      <div className="mb-3">
        <SearchField
          label={t("catalogue.filterService")}
          value={name}
          onChange={(text) => void navigate({ search: text ? { name: text } : {}, replace: true })}
        />
      </div>
      <Services
        items={shown}
        empty={
          all.length === 0 ? (
            <Empty title={t("catalogue.noServices")}>{t("catalogue.noServicesHint")}</Empty>
          ) : (
            <Empty title={t("stock.noneTitle")}>{t("stock.noneHint")}</Empty>
          )
        }
      />
    </>
  );
}

function Services({ items, empty }: { items: readonly ServiceImage[]; empty: React.ReactNode }) {
  const { t } = useText();
  const { day } = useFormat();
  /** A service is named once, above its versions. */
  const isFirst = (image: ServiceImage) => items.find((it) => it.service === image.service) === image;
  const link = (image: ServiceImage) => (
    <Link
      to="/admin/services/$id"
      params={{ id: image.id }}
      aria-label={`${image.service} ${image.version}`}
      className="block truncate font-mono text-ultra text-xs hover:underline max-md:min-h-6"
    >
      {image.version}
    </Link>
  );
  const columns: Column<ServiceImage>[] = [
    {
      key: "service",
      label: t("catalogue.serviceName"),
      width: "minmax(8rem, 0.9fr)",
      cell: (image) => (
        <span className={isFirst(image) ? "block truncate font-medium text-sm" : "sr-only"}>
          {image.service}
        </span>
      ),
    },
    { key: "version", label: t("catalogue.version"), width: "minmax(6.5rem, 0.5fr)", cell: link },
    {
      key: "state",
      label: t("catalogue.state"),
      width: "8rem",
      cell: (image) => <ServiceMark image={image} />,
    },
    {
      key: "image",
      label: t("catalogue.image"),
      width: "minmax(8rem, 1.9fr)",
      cell: (image) => (
        <span className="block truncate font-mono text-ink-2 text-xs" title={image.template.image}>
          {image.template.image}
        </span>
      ),
    },
    {
      key: "ports",
      label: t("catalogue.ports"),
      width: "4rem",
      cell: (image) => (
        <span className="num block truncate text-ink-2 text-xs">
          {image.template.ports.map((it) => it.port).join(", ")}
        </span>
      ),
    },
    {
      key: "changed",
      label: t("catalogue.changedAt"),
      width: "6rem",
      end: true,
      cell: (image) => <span className="num text-ink-3 text-xs">{day(image.updated_at)}</span>,
    },
    {
      key: "actions",
      label: t("catalogue.change"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (image) => <ServiceMenu image={image} />,
    },
  ];
  return (
    <Table
      label={t("catalogue.servicesTitle")}
      items={items}
      columns={columns}
      rowHeight={36}
      rowKey={(image) => image.id}
      empty={empty}
      narrow={(image) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-3">
          <span className="min-w-0">
            <span className="block truncate font-medium text-sm">{image.service}</span>
            {link(image)}
          </span>
          <ServiceMark image={image} />
          <ServiceMenu image={image} />
        </div>
      )}
    />
  );
}
