import { createFileRoute } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { useLoaded } from "@/api/query";
import { StateCell } from "@/domain/instances/state-cell";
import { useText } from "@/i18n";
import { PageHead } from "@/ui/page";

export const Route = createFileRoute("/_app/instances/$id/")({
  loader: ({ context, params }) => context.client.ensureQueryData(instance(params.id as InstanceId)),
  component: Page,
});

function Page() {
  const { t } = useText();
  const it = useLoaded(instance(Route.useParams().id as InstanceId));
  return (
    <>
      <PageHead title={it.name} up={{ label: t("instances.title"), link: { to: "/instances" } }}>
        {it.gpu_spec.name}
      </PageHead>
      <StateCell it={it} />
    </>
  );
}
