import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { PoolId } from "@/api/generated/types";
import { PoolPage } from "@/features/platform/pools/detail";
import { poolDialogs } from "@/features/platform/pools/dialog-names";
import { capacity, pool, shares, workers } from "@/features/platform/pools/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/pools/$id")({
  params: { parse: ({ id }) => ({ id: id as PoolId }), stringify: ({ id }) => ({ id }) },
  validateSearch: z.object({ open: z.optional(z.catch(z.optional(z.enum(poolDialogs)), undefined)) }),
  beforeLoad: () => needWords("platform", "tenants", "stock", "pools"),
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
