import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { everyStorageSpec, storageSpec } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { StorageSpecsPage } from "@/features/storage-specs/page";

export const Route = createFileRoute("/_app/admin/storage-specs")({
  // `edit`: the specification that is changed
  validateSearch: z.object({
    edit: z.optional(z.catch(z.optional(z.string()), undefined)),
    open: z.optional(z.catch(z.optional(z.enum(["new"])), undefined)),
  }),
  beforeLoad: needCatalogueWords,
  loaderDeps: ({ search: { edit } }) => ({ edit }),
  loader: async ({ context: { client }, deps }) => {
    const specs = await client.ensureQueryData(everyStorageSpec);
    const edited = specs.find((it) => it.name === deps.edit);
    // with its ETag
    if (edited) await client.fetchQuery({ ...storageSpec(edited.id), staleTime: 0 });
  },
  component: StorageSpecsPage,
});
