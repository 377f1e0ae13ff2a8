import { createFileRoute, useParams, useSearch } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { InstanceId } from "@/api/generated/types";
import { attempts } from "@/api/instances/details";
import { LogPage } from "@/features/instance/log/page";

export const Route = createFileRoute("/_app/instances/$id/log")({
  validateSearch: z.object({
    attempt: z.optional(z.catch(z.optional(z.number()), undefined)),
    search: z.optional(z.catch(z.string(), "")),
  }),
  loader: ({ context, params }) => void context.client.prefetchQuery(attempts(params.id as InstanceId)),
  component: Log,
});

function Log() {
  const { attempt, search } = useSearch({ from: "/_app/instances/$id/log" });
  const id = useParams({ from: "/_app/instances/$id/log" }).id as InstanceId;
  return <LogPage key={`${id} ${attempt}`} id={id} attempt={attempt} search={search ?? ""} />;
}
