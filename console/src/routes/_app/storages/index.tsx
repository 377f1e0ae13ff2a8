import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { storageSpecs } from "@/api/catalogue";
import { instances } from "@/api/instances/queries";
import { storagePages } from "@/api/storages/queries";
import { tenantOf } from "@/app/needs-tenant";
import { storageFilter } from "@/domain/storages/filter";
import { StoragesPage } from "@/features/storages/page";
import { needWords } from "@/i18n";

const sorts = ["created_at", "-created_at", "name", "-name", "size_gib", "-size_gib"] as const;

export const Route = createFileRoute("/_app/storages/")({
  validateSearch: z.object({
    kind: z.optional(z.catch(z.optional(z.enum(["volume", "bucket"])), undefined)),
    state: z.optional(z.catch(z.optional(z.string()), undefined)),
    name: z.optional(z.catch(z.optional(z.string()), undefined)),
    sort: z.optional(z.catch(z.optional(z.enum(sorts)), undefined)),
  }),
  beforeLoad: () => needWords("storages"),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { client, me }, deps }) => {
    tenantOf(me);
    // who mounts them, and how large they may become, comes when it comes
    void client.prefetchInfiniteQuery(instances());
    void client.prefetchQuery(storageSpecs);
    await Promise.all([
      client.ensureInfiniteQueryData(storagePages(storageFilter(deps))),
      // the sentence is about all of them
      client.ensureInfiniteQueryData(storagePages()),
    ]);
  },
  component: StoragesPage,
});
