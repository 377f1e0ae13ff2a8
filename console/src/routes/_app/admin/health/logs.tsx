import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { levels } from "@/features/platform/health/levels";
import { LogsPage } from "@/features/platform/health/logs";
import { platformLogs } from "@/features/platform/health/queries";

export const Route = createFileRoute("/_app/admin/health/logs")({
  validateSearch: z.object({
    module: z.optional(z.catch(z.optional(z.string()), undefined)),
    level: z.optional(z.catch(z.optional(z.enum(levels)), undefined)),
    request: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  loaderDeps: ({ search }) => search,
  loader: ({ context: { client }, deps }) => client.prefetchQuery(platformLogs(deps)),
  component: LogsPage,
});
