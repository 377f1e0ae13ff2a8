import { createFileRoute, redirect } from "@tanstack/react-router";
import { ApiError } from "@/api/problem";
import { me, receivedInvitations } from "@/api/session";
import { Shell } from "@/app/shell";
import { setLanguage } from "@/i18n";

/** The language of the account counts when the page is opened; afterwards, what is chosen on it. */
let isFirst = true;

export const Route = createFileRoute("/_app")({
  beforeLoad: async ({ context, location }) => {
    try {
      const caller = await context.client.ensureQueryData(me);
      if (isFirst && caller.language) await setLanguage(caller.language);
      isFirst = false;
      return { me: caller };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const failed = new URLSearchParams(location.searchStr).get("sign_in_error");
      throw redirect({
        to: "/sign-in",
        search: {
          ...(!failed && { return_to: location.href }),
          ...(failed && { sign_in_error: failed }),
        },
      });
    }
  },
  loader: ({ context }) => void context.client.prefetchQuery(receivedInvitations),
  component: Shell,
});
