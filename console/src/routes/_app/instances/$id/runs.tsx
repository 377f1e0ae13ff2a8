import { createFileRoute } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";
import { runs } from "@/api/instances/details";
import { RunsPage } from "@/features/instance/runs";

export const Route = createFileRoute("/_app/instances/$id/runs")({
  loader: ({ context, params }) => context.client.ensureInfiniteQueryData(runs(params.id as InstanceId)),
  component: Page,
});

function Page() {
  return <RunsPage id={Route.useParams().id as InstanceId} />;
}
