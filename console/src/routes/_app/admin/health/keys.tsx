import { createFileRoute } from "@tanstack/react-router";
import { KeysPage } from "@/features/platform/health/keys";
import { signingKeys } from "@/features/platform/health/queries";

export const Route = createFileRoute("/_app/admin/health/keys")({
  loader: ({ context: { client } }) => client.ensureQueryData(signingKeys),
  component: KeysPage,
});
