import { createFileRoute } from "@tanstack/react-router";
import { TenantOverview } from "@/features/platform/tenant/overview";
import { usage } from "@/features/platform/tenant/queries";

export const Route = createFileRoute("/_app/admin/tenants/$id/")({
  loader: ({ context: { client }, params: { id } }) => {
    void client.prefetchQuery(usage(id, "day"));
    void client.prefetchQuery(usage(id, "spec"));
  },
  component: TenantOverview,
});
