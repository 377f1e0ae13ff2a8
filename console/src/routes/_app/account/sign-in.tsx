import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { linkedAccounts, passkeys, totp } from "@/features/account/queries";
import { SignInMethodsPage } from "@/features/account/sign-in-methods";
import { providers } from "@/features/sign-in/queries";

export const Route = createFileRoute("/_app/account/sign-in")({
  // the provider's answer to a link comes back here
  validateSearch: z.object({ sign_in_error: z.optional(z.catch(z.string(), "sign-in-failed")) }),
  loader: ({ context: { client } }) =>
    Promise.all([
      client.ensureQueryData(totp),
      client.ensureQueryData(passkeys),
      client.ensureQueryData(linkedAccounts),
      client.ensureQueryData(providers),
    ]),
  component: SignInMethodsPage,
});
