import { createFileRoute, useParams, useSearch } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { OpenPage } from "@/features/instances/open";

export const Route = createFileRoute("/_app/instances/$id_/open")({
  validateSearch: z.object({ port: z.optional(z.catch(z.optional(z.number()), undefined)) }),
  loader: ({ context, params }) => context.client.ensureQueryData(instance(params.id as InstanceId)),
  component: Open,
});

function Open() {
  return (
    <OpenPage
      id={useParams({ from: "/_app/instances/$id_/open" }).id as InstanceId}
      port={useSearch({ from: "/_app/instances/$id_/open" }).port}
    />
  );
}
