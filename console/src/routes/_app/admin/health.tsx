import { createFileRoute } from "@tanstack/react-router";
import { HealthLayout } from "@/features/platform/health/layout";
import { health } from "@/features/platform/health/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/health")({
  beforeLoad: () => needWords("platform", "health"),
  loader: ({ context: { client } }) => client.ensureQueryData(health),
  component: HealthLayout,
});
