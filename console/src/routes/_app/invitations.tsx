import { createFileRoute } from "@tanstack/react-router";
import { receivedInvitations } from "@/api/session";
import { InvitationsPage } from "@/features/sign-in/invitations";

export const Route = createFileRoute("/_app/invitations")({
  loader: ({ context }) => context.client.ensureQueryData(receivedInvitations),
  component: InvitationsPage,
});
