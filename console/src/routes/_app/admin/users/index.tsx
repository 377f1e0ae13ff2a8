import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { UsersPage } from "@/features/platform/users/page";
import { users } from "@/features/platform/users/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/users/")({
  validateSearch: z.object({
    email: z.optional(z.catch(z.optional(z.string()), undefined)),
    open: z.optional(z.catch(z.optional(z.enum(["create"])), undefined)),
  }),
  loaderDeps: ({ search: { email } }) => ({ email }),
  beforeLoad: () => needWords("platform", "users"),
  loader: async ({ context: { client }, deps: { email } }) => {
    await Promise.all([
      client.ensureInfiniteQueryData(users(email)),
      // the sentence is about all of them
      client.ensureInfiniteQueryData(users()),
    ]);
  },
  component: UsersPage,
});
