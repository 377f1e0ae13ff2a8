import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { SignInPage } from "@/features/sign-in/page";
import { providers } from "@/features/sign-in/queries";

export const Route = createFileRoute("/sign-in")({
  validateSearch: z.object({
    return_to: z.optional(z.catch(z.string(), "/")),
    ended: z.optional(z.catch(z.boolean(), false)),
    sign_in_error: z.optional(z.catch(z.string(), "sign-in-failed")),
  }),
  loader: ({ context }) => context.client.ensureQueryData(providers),
  component: SignInPage,
});
