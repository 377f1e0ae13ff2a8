import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { datacenters, stock, storageSpecs, storages } from "@/api/catalogue";
import { storageQuota } from "@/api/storages/queries";
import { tenantOf } from "@/app/needs-tenant";
import { NewStoragePage } from "@/features/new-storage/page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/storages/new")({
  validateSearch: z.object({ spec: z.optional(z.catch(z.optional(z.string()), undefined)) }),
  beforeLoad: () => needWords("storages"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    void client.prefetchQuery(stock);
    await Promise.all([
      client.ensureQueryData(storageSpecs),
      client.ensureQueryData(datacenters),
      client.ensureQueryData(storages),
      client.fetchQuery(storageQuota),
    ]);
  },
  component: NewStoragePage,
});
