import { createFileRoute, useParams } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";
import { runs } from "@/api/instances/details";
import { RunsPage } from "@/features/instance/runs";

export const Route = createFileRoute("/_app/instances/$id/runs")({
  loader: ({ context, params }) => context.client.ensureInfiniteQueryData(runs(params.id as InstanceId)),
  component: Page,
});

function Page() {
  return <RunsPage id={useParams({ from: "/_app/instances/$id/runs" }).id as InstanceId} />;
}
