import { createFileRoute } from "@tanstack/react-router";
import type { PoolId } from "@/api/generated/types";
import { PoolPage } from "@/features/platform/pools/detail";
import { capacity, pool, shares, workers } from "@/features/platform/pools/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/pools/$id")({
  params: { parse: ({ id }) => ({ id: id as PoolId }), stringify: ({ id }) => ({ id }) },
  beforeLoad: () => needWords("platform", "tenants", "pools"),
  loader: async ({ context: { client }, params: { id } }) => {
    await Promise.all([
      client.ensureQueryData(pool(id)),
      client.ensureQueryData(capacity(id)),
      client.ensureInfiniteQueryData(shares(id)),
      client.ensureInfiniteQueryData(workers(id)),
    ]);
  },
  component: PoolPage,
});
