import { createFileRoute } from "@tanstack/react-router";
import { sessions } from "@/features/account/queries";
import { SessionsPage } from "@/features/account/sessions";

export const Route = createFileRoute("/_app/account/sessions")({
  loader: ({ context }) => context.client.ensureQueryData(sessions),
  component: SessionsPage,
});
