import { getRouteApi, Link } from "@tanstack/react-router";
import { stock } from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { gpuSpec } from "@/api/stock";
import { rowKey, totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { Id } from "@/ui/id";
import { PageHead, Panel, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { StockBar } from "@/ui/stock-bar";
import { useSpecFacts } from "./facts";
import { Prices } from "./prices";
import { SpecMenu } from "./spec-menu";

const route = getRouteApi("/_app/admin/gpu-specs/$id");

export function SpecPage() {
  const { t } = useText();
  const { id } = route.useParams();
  const spec = useLoaded(gpuSpec(id));
  const rows = useLoaded(stock).filter((row) => row.gpu_spec.id === id);
  const total = totalsOf(rows);
  const facts = useSpecFacts();
  return (
    <>
      <PageHead
        title={spec.name}
        up={{ label: t("catalogue.specsTitle"), link: { to: "/admin/gpu-specs" } }}
        mark={
          <StateMark mark={spec.state === "active" ? "runs" : "rests"}>
            {t(spec.state === "active" ? "catalogue.forSale" : "catalogue.retired")}
          </StateMark>
        }
        actions={
          <>
            <ButtonLink to="/admin/gpu-specs/$id/edit" params={{ id }}>
              {t("catalogue.change")}
            </ButtonLink>
            <SpecMenu spec={spec} units={total} />
          </>
        }
      >
        {total.total > 0
          ? t("catalogue.specSentence", { available: total.available, total: total.total, used: total.used })
          : t("catalogue.specNoUnits")}
      </PageHead>
      <Facts>
        {facts(spec)
          .filter((it) => it.value && it.key !== "name" && it.key !== "state")
          .map((it) => (
            <Fact key={it.key} label={it.label}>
              {it.value}
            </Fact>
          ))}
        <Fact label={t("catalogue.id")}>
          <Id id={spec.id} label={t("catalogue.copyId")} />
        </Fact>
      </Facts>
      <Section title={t("stock.title")}>
        <Panel>
          {rows.length === 0 && (
            <p className="px-3 py-3 text-ink-2 text-sm">
              {t("catalogue.specNoUnits")}{" "}
              <Link to="/admin/stock" search={{ open: "create" }} className="text-ultra underline">
                {t("stock.create")}
              </Link>
            </p>
          )}
          <ul className="divide-y divide-line">
            {rows.map((row) => (
              <li
                key={row.datacenter.id}
                className="num grid min-h-9 grid-cols-[5rem_minmax(0,1fr)_4.5rem] items-center gap-x-4 px-3 py-1 text-sm"
              >
                <Link
                  to="/admin/stock"
                  search={{ edit: rowKey(row) }}
                  className="truncate text-ultra hover:underline"
                >
                  {row.datacenter.name}
                </Link>
                <StockBar counts={row} label={t("stock.bar", { ...row })} />
                <span className="text-right text-ink-2 text-xs">
                  {t("catalogue.availableOf", { available: row.available, total: row.total })}
                </span>
              </li>
            ))}
          </ul>
        </Panel>
      </Section>
      <Prices id={id} />
    </>
  );
}
