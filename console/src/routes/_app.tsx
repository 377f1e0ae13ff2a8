import { createFileRoute, redirect } from "@tanstack/react-router";
import { ApiError } from "@/api/problem";
import { me, receivedInvitations } from "@/api/session";
import { Shell } from "@/app/shell";

export const Route = createFileRoute("/_app")({
  beforeLoad: async ({ context, location }) => {
    try {
      return { me: await context.client.ensureQueryData(me) };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const failed = new URLSearchParams(location.searchStr).get("sign_in_error");
      throw redirect({
        to: "/sign-in",
        search: {
          ...(location.href !== "/" && !failed && { return_to: location.href }),
          ...(failed && { sign_in_error: failed }),
        },
      });
    }
  },
  loader: ({ context }) => void context.client.prefetchQuery(receivedInvitations),
  component: Shell,
});
