import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { TenantId } from "@/api/generated/types";
import { StoragesPage } from "@/features/platform/storages/page";
import { storages } from "@/features/platform/storages/queries";
import { storageStates } from "@/features/platform/storages/states";
import { needWords } from "@/i18n";

const tenant = z.pipe(
  z.string(),
  z.transform((id) => id as TenantId),
);

export const Route = createFileRoute("/_app/admin/storages/")({
  validateSearch: z.object({
    find: z.optional(z.catch(z.optional(z.string()), undefined)),
    tenant: z.optional(tenant),
    state: z.optional(z.catch(z.optional(z.enum(storageStates)), undefined)),
  }),
  loaderDeps: ({ search: { tenant, state } }) => ({ tenant, state }),
  beforeLoad: () => needWords("platform", "fleet"),
  loader: ({ context: { client }, deps }) => client.ensureInfiniteQueryData(storages(deps)),
  component: StoragesPage,
});
