import { createFileRoute } from "@tanstack/react-router";
import { InstancesLayout } from "@/features/platform/instances/page";
import { instances } from "@/features/platform/instances/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/instances/_list")({
  beforeLoad: () => needWords("platform", "fleet"),
  // the sentence is about all that run
  loader: ({ context: { client } }) => client.ensureInfiniteQueryData(instances({ state: "running" })),
  component: InstancesLayout,
});
