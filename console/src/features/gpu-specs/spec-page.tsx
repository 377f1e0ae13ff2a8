import { getRouteApi, Link } from "@tanstack/react-router";
import { stock } from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { gpuSpec } from "@/api/stock";
import { totalsOf } from "@/domain/catalogue/stock";
import { StockSection } from "@/domain/catalogue/stock-section";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { Id } from "@/ui/id";
import { PageHead } from "@/ui/page";
import { StateMark } from "@/ui/state";
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
      <StockSection
        rows={rows}
        name={(row) => row.datacenter.name}
        none={
          <>
            {t("catalogue.specNoUnits")}{" "}
            <Link to="/admin/stock" search={{ open: "create" }} className="text-ultra underline">
              {t("stock.create")}
            </Link>
          </>
        }
      />
      <Prices id={id} />
    </>
  );
}
