import { createFileRoute, redirect } from "@tanstack/react-router";
import { endEarly } from "@/api/early";
import { closeLine, untilHeard } from "@/api/line";
import { ApiError } from "@/api/problem";
import { me, receivedInvitations } from "@/api/session";
import { Shell } from "@/app/shell";
import { keepCaller } from "@/first/caller";
import { setLanguage } from "@/i18n";

/** The language of the account counts when the page is opened; afterwards, what is chosen on it. */
let isFirst = true;

export const Route = createFileRoute("/_app")({
  beforeLoad: async ({ context, location }) => {
    try {
      const caller = await context.client.ensureQueryData(me);
      if (isFirst && caller.language) await setLanguage(caller.language);
      isFirst = false;
      keepCaller(caller);
      if (caller.tenant_id || caller.user.admin) await untilHeard();
      return { me: caller };
    } catch (error) {
      endEarly();
      void closeLine();
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      keepCaller(null);
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
