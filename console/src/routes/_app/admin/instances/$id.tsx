import { createFileRoute } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";
import { InstancePage } from "@/features/platform/instance/page";
import { instance, instanceActions, sshSessions } from "@/features/platform/instances/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/instances/$id")({
  params: { parse: ({ id }) => ({ id: id as InstanceId }), stringify: ({ id }) => ({ id }) },
  beforeLoad: () => needWords("platform", "fleet"),
  loader: async ({ context: { client }, params: { id } }) => {
    await Promise.all([
      client.ensureQueryData(instance(id)),
      client.ensureInfiniteQueryData(instanceActions(id)),
      client.ensureInfiniteQueryData(sshSessions({ instance: id })),
    ]);
  },
  component: InstancePage,
});
