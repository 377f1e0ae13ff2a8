import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { TenantId } from "@/api/generated/types";
import { sshSessions } from "@/features/platform/instances/queries";
import { SshPage } from "@/features/platform/instances/ssh";

const tenant = z.pipe(
  z.string(),
  z.transform((id) => id as TenantId),
);

export const Route = createFileRoute("/_app/admin/instances/_list/ssh")({
  validateSearch: z.object({ tenant: z.optional(tenant) }),
  loaderDeps: ({ search: { tenant } }) => ({ tenant }),
  loader: ({ context: { client }, deps }) => client.ensureInfiniteQueryData(sshSessions(deps)),
  component: SshPage,
});
