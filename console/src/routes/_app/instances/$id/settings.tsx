import { createFileRoute, useParams } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";

import { SettingsPage } from "@/features/instance/settings/page";

export const Route = createFileRoute("/_app/instances/$id/settings")({
  component: Page,
});

function Page() {
  return <SettingsPage id={useParams({ from: "/_app/instances/$id/settings" }).id as InstanceId} />;
}
