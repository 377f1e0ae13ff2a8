import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { OperationId, TenantId } from "@/api/generated/types";
import { tenantDialogs } from "@/features/platform/tenant/dialog-names";
import { TenantLayout } from "@/features/platform/tenant/layout";
import { budget, members, tenant, tenantInstances, usage } from "@/features/platform/tenant/queries";
import { needWords } from "@/i18n";

const operation = z.pipe(
  z.string(),
  z.transform((id) => id as OperationId),
);

export const Route = createFileRoute("/_app/admin/tenants/$id")({
  params: { parse: ({ id }) => ({ id: id as TenantId }), stringify: ({ id }) => ({ id }) },
  validateSearch: z.object({
    open: z.optional(z.catch(z.optional(z.enum(tenantDialogs)), undefined)),
    /** The deletion that this page has begun. */
    operation: z.optional(operation),
  }),
  beforeLoad: () => needWords("platform", "tenants"),
  loader: async ({ context: { client }, params: { id } }) => {
    void client.prefetchQuery(members(id));
    void client.prefetchQuery(tenantInstances(id));
    void client.prefetchQuery(usage(id, "tenant"));
    void client.prefetchQuery(budget(id));
    await client.ensureQueryData(tenant(id));
  },
  component: TenantLayout,
});
