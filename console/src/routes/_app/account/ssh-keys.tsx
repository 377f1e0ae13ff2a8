import { createFileRoute } from "@tanstack/react-router";
import { ownSshKeys } from "@/api/instances/details";
import { SshKeysPage } from "@/features/account/ssh-keys";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/account/ssh-keys")({
  beforeLoad: () => needWords("sshKeys"),
  loader: ({ context }) => context.client.ensureQueryData(ownSshKeys),
  component: SshKeysPage,
});
