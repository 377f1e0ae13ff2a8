import { createFileRoute } from "@tanstack/react-router";
import { services } from "@/api/catalogue";
import type { PoolId } from "@/api/generated/types";
import { everyGpuSpec } from "@/api/stock";
import { EditPoolPage } from "@/features/platform/pools/edit-page";
import { pool } from "@/features/platform/pools/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/pools/$id_/edit")({
  params: { parse: ({ id }) => ({ id: id as PoolId }), stringify: ({ id }) => ({ id }) },
  beforeLoad: () => needWords("platform", "stock", "pools"),
  loader: async ({ context: { client }, params: { id } }) => {
    await Promise.all([
      client.fetchQuery({ ...pool(id), staleTime: 0 }),
      client.ensureQueryData(everyGpuSpec),
      client.ensureQueryData(services),
    ]);
  },
  component: EditPoolPage,
});
