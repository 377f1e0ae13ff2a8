import { createFileRoute, useParams, useSearch } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { InstanceId } from "@/api/generated/types";
import { ranges } from "@/api/instances/ranges";
import { OverviewPage } from "@/features/instance/overview";

export const Route = createFileRoute("/_app/instances/$id/")({
  validateSearch: z.object({ range: z.optional(z.catch(z.optional(z.enum(ranges)), undefined)) }),
  component: Overview,
});

function Overview() {
  return (
    <OverviewPage
      id={useParams({ from: "/_app/instances/$id/" }).id as InstanceId}
      range={useSearch({ from: "/_app/instances/$id/" }).range}
    />
  );
}
