import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { TenantsPage } from "@/features/platform/tenants/page";
import { budgets, quotas, spending, tenants } from "@/features/platform/tenants/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/tenants/")({
  validateSearch: z.object({
    name: z.optional(z.catch(z.optional(z.string()), undefined)),
    state: z.optional(z.catch(z.optional(z.enum(["active", "suspended", "deleting"])), undefined)),
    open: z.optional(z.catch(z.optional(z.enum(["create"])), undefined)),
  }),
  loaderDeps: ({ search: { name, state } }) => ({ name, state }),
  beforeLoad: () => needWords("platform", "tenants"),
  loader: async ({ context: { client }, deps }) => {
    void client.prefetchQuery(budgets);
    void client.prefetchQuery(quotas);
    void client.prefetchQuery(spending);
    await Promise.all([
      client.ensureInfiniteQueryData(tenants(deps)),
      // the sentence is about all of them
      client.ensureInfiniteQueryData(tenants()),
    ]);
  },
  component: TenantsPage,
});
