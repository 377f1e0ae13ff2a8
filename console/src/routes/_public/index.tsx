import { createFileRoute, redirect } from "@tanstack/react-router";
import { z } from "zod/mini";
import { offers } from "@/api/catalogue";
import { StartPage } from "@/features/visitor/start-page";

export const Route = createFileRoute("/_public/")({
  // what a provider answers with when it did not sign in
  validateSearch: z.object({ sign_in_error: z.optional(z.catch(z.string(), "sign-in-failed")) }),
  beforeLoad: async ({ context, search }) => {
    if (context.caller) {
      const { homeOf } = await import("@/app/pages");
      throw redirect({ to: homeOf(context.caller), replace: true });
    }
    if (search.sign_in_error) throw redirect({ to: "/sign-in", search, replace: true });
  },
  // without prices the page is still of use
  loader: ({ context }) => context.client.prefetchQuery(offers),
  component: StartPage,
});
