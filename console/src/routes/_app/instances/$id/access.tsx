import { createFileRoute, useParams } from "@tanstack/react-router";
import type { InstanceId } from "@/api/generated/types";
import { instanceSshKeys, ownSshKeys, shareLinks, sshEndpoint } from "@/api/instances/details";
import { AccessPage } from "@/features/instance/access/page";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/instances/$id/access")({
  beforeLoad: () => needWords("sshKeys"),
  loader: async ({ context: { client }, params }) => {
    const id = params.id as InstanceId;
    void client.prefetchQuery(sshEndpoint);
    void client.prefetchQuery(ownSshKeys);
    await Promise.all([client.ensureQueryData(shareLinks(id)), client.ensureQueryData(instanceSshKeys(id))]);
  },
  component: Page,
});

function Page() {
  return <AccessPage id={useParams({ from: "/_app/instances/$id/access" }).id as InstanceId} />;
}
