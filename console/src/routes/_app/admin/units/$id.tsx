import { createFileRoute } from "@tanstack/react-router";
import type { UnitId } from "@/api/generated/types";
import { stockRepairs, stockUnit, tenantNames } from "@/api/stock";
import { UnitPage } from "@/features/units/unit-page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/units/$id")({
  params: { parse: ({ id }) => ({ id: id as UnitId }) },
  beforeLoad: () => needWords("stock"),
  loader: async ({ context: { client }, params }) => {
    await Promise.all([
      client.ensureQueryData(stockUnit(params.id)),
      client.ensureInfiniteQueryData(stockRepairs),
      client.ensureQueryData(tenantNames),
    ]);
  },
  component: UnitPage,
});
