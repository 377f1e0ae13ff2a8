import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { stockCapacity } from "@/api/stock";
import { PeriodChoice } from "@/domain/capacity/period-choice";
import { useText } from "@/i18n";
import { ErrorLine } from "@/ui/error";
import { Panel, Section } from "@/ui/page";
import { shownPeriod } from "./queries";

const Charts = lazy(() => import("@/domain/capacity/charts"));

const route = getRouteApi("/_app/admin/");

/** How many units of all datacenters were in use. */
export function CapacityOverTime() {
  const { t } = useText();
  const { period = shownPeriod } = route.useSearch();
  const navigate = route.useNavigate();
  const { data, error } = useQuery({ ...stockCapacity({}, period), placeholderData: keepPreviousData });
  const room = <Panel className="h-48">{null}</Panel>;
  return (
    <Section
      title={t("stock.capacity")}
      actions={
        <PeriodChoice
          value={period}
          onChange={(next) =>
            void navigate({
              search: next === shownPeriod ? {} : { period: next },
              replace: true,
              resetScroll: false,
            })
          }
        />
      }
    >
      {error ? (
        <ErrorLine error={error} />
      ) : (
        <Suspense fallback={room}>{data ? <Charts data={data} shown={["use"]} /> : room}</Suspense>
      )}
    </Section>
  );
}
