import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { tenantOf } from "@/app/needs-tenant";
import { MembersPage } from "@/features/members/page";
import { invitations, mayListInvitations, members } from "@/features/members/queries";

export const Route = createFileRoute("/_app/members")({
  validateSearch: z.object({ open: z.optional(z.catch(z.enum(["invite"]), "invite")) }),
  loader: async ({ context: { client, me } }) => {
    const tenant = tenantOf(me);
    await Promise.all([
      client.ensureQueryData(members(tenant)),
      mayListInvitations(me) && client.ensureQueryData(invitations(tenant)),
    ]);
  },
  component: MembersPage,
});
