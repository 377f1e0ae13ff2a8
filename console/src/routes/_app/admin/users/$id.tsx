import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { UserId } from "@/api/generated/types";
import { userDialogs } from "@/features/platform/user/dialog-names";
import { UserPage } from "@/features/platform/user/page";
import { memberships, user } from "@/features/platform/users/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/users/$id")({
  params: { parse: ({ id }) => ({ id: id as UserId }), stringify: ({ id }) => ({ id }) },
  validateSearch: z.object({
    open: z.optional(z.catch(z.optional(z.enum(userDialogs)), undefined)),
  }),
  beforeLoad: () => needWords("platform", "users"),
  loader: async ({ context: { client }, params: { id } }) => {
    await Promise.all([client.ensureQueryData(user(id)), client.ensureQueryData(memberships(id))]);
  },
  component: UserPage,
});
