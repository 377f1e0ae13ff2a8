import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { storageSpecs } from "@/api/catalogue";
import type { StorageId } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";
import { storage, storageOperations } from "@/api/storages/queries";
import { tenantOf } from "@/app/needs-tenant";
import { StorageLayout } from "@/features/storage/layout";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/storages/$id")({
  validateSearch: z.object({
    open: z.optional(z.catch(z.optional(z.enum(["rename", "grow", "delete"])), undefined)),
  }),
  beforeLoad: () => needWords("storages"),
  loader: async ({ context: { client, me }, params }) => {
    tenantOf(me);
    const id = params.id as StorageId;
    // what stands beside the state comes when it comes
    void client.prefetchQuery(storageSpecs);
    void client.prefetchInfiniteQuery(instances());
    void client.prefetchInfiniteQuery(storageOperations(id));
    await client.ensureQueryData(storage(id));
  },
  component: StorageLayout,
});
