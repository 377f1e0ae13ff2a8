import { createFileRoute } from "@tanstack/react-router";
import { gpuSpecs } from "@/api/catalogue";
import { TenantLimits } from "@/features/platform/tenant/limits";
import {
  budget,
  poolShares,
  quota,
  storageQuota,
  tenantInstances,
  tenantStorages,
} from "@/features/platform/tenant/queries";

export const Route = createFileRoute("/_app/admin/tenants/$id/limits")({
  loader: async ({ context: { client }, params: { id } }) => {
    void client.prefetchQuery(gpuSpecs);
    void client.prefetchQuery(tenantInstances(id));
    void client.prefetchQuery(tenantStorages(id));
    void client.prefetchQuery(poolShares(id));
    await Promise.all([
      client.ensureQueryData(quota(id)),
      client.ensureQueryData(storageQuota(id)),
      client.ensureQueryData(budget(id)),
    ]);
  },
  component: TenantLimits,
});
