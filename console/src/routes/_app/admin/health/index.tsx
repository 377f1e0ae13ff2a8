import { createFileRoute } from "@tanstack/react-router";
import { ModulesPage } from "@/features/platform/health/modules";
import { isolation } from "@/features/platform/health/queries";

export const Route = createFileRoute("/_app/admin/health/")({
  loader: ({ context: { client } }) => client.ensureQueryData(isolation),
  component: ModulesPage,
});
