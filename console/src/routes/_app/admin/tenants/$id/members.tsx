import { createFileRoute } from "@tanstack/react-router";
import { TenantMembers } from "@/features/platform/tenant/members";
import { invitations, members } from "@/features/platform/tenant/queries";

export const Route = createFileRoute("/_app/admin/tenants/$id/members")({
  loader: async ({ context: { client }, params: { id } }) => {
    await Promise.all([client.ensureQueryData(members(id)), client.ensureQueryData(invitations(id))]);
  },
  component: TenantMembers,
});
