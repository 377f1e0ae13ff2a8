import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { OpenPage } from "@/features/instances/open";

export const Route = createFileRoute("/_app/instances/$id/open")({
  validateSearch: z.object({ port: z.optional(z.catch(z.optional(z.number()), undefined)) }),
  loader: ({ context, params }) => context.client.ensureQueryData(instance(params.id as InstanceId)),
  component: Open,
});

function Open() {
  return <OpenPage id={Route.useParams().id as InstanceId} port={Route.useSearch().port} />;
}
