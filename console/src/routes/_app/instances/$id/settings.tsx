import { createFileRoute } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";

import { SettingsPage } from "@/features/instance/settings/page";

export const Route = createFileRoute("/_app/instances/$id/settings")({
  component: Page,
});

function Page() {
  return <SettingsPage id={Route.useParams().id as InstanceId} />;
}
