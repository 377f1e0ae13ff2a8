import { createFileRoute, useParams } from "@tanstack/react-router";
import type { StorageId } from "@/api/generated/types";
import { OverviewPage } from "@/features/storage/overview";

export const Route = createFileRoute("/_app/storages/$id/")({ component: Overview });

function Overview() {
  return <OverviewPage id={useParams({ from: "/_app/storages/$id/" }).id as StorageId} />;
}
