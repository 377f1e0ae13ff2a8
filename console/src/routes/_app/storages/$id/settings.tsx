import { createFileRoute, useParams } from "@tanstack/react-router";
import type { StorageId } from "@/api/generated/types";
import { SettingsPage } from "@/features/storage/settings";

export const Route = createFileRoute("/_app/storages/$id/settings")({ component: Settings });

function Settings() {
  return <SettingsPage id={useParams({ from: "/_app/storages/$id/settings" }).id as StorageId} />;
}
