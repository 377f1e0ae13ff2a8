import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { TenantId } from "@/api/generated/types";
import { InstancesPage } from "@/features/platform/instances/page";
import { instances } from "@/features/platform/instances/queries";

const states = ["pending", "starting", "running", "stopping", "stopped", "deleting"] as const;
const tenant = z.pipe(
  z.string(),
  z.transform((id) => id as TenantId),
);

export const Route = createFileRoute("/_app/admin/instances/_list/")({
  validateSearch: z.object({
    find: z.optional(z.catch(z.optional(z.string()), undefined)),
    tenant: z.optional(tenant),
    state: z.optional(z.catch(z.optional(z.enum(states)), undefined)),
  }),
  loaderDeps: ({ search: { tenant, state } }) => ({ tenant, state }),
  loader: ({ context: { client }, deps }) => client.ensureInfiniteQueryData(instances(deps)),
  component: InstancesPage,
});
