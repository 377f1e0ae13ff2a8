import { call } from "@/api/client";
import { acceptInvitation, declineInvitation } from "@/api/generated/operations";
import type { ReceivedInvitation } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { me, receivedInvitations, useMe } from "@/api/session";
import { switchTenant } from "@/api/tenant";
import { roleWord } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Empty, PageHead, Panel, Row } from "@/ui/page";
import { notify } from "@/ui/toast";

export function InvitationsPage() {
  const { t } = useText();
  const { items } = useLoaded(receivedInvitations);
  const { user } = useMe();
  return (
    <>
      <PageHead title={t("signIn.invitationsTitle")}>
        {items.length > 0 && t("signIn.invitationsSummary", { count: items.length })}
      </PageHead>
      <Panel className="max-w-176">
        {items.map((invitation) => (
          <Invitation key={invitation.id} invitation={invitation} />
        ))}
        {items.length === 0 && (
          <Empty title={t("signIn.invitationsNone")}>
            {t("signIn.invitationsNoneHint", { email: user.email })}
          </Empty>
        )}
      </Panel>
    </>
  );
}

/** The role inside the sentence, and what it may do below. */
function Invitation({ invitation }: { invitation: ReceivedInvitation }) {
  const { t } = useText();
  const { day } = useFormat();
  const { id, tenant, role } = invitation;
  const accept = useAct(
    async (_: void, key) => {
      await call(acceptInvitation, { path: { id } }, { key });
      await switchTenant(tenant.id);
    },
    { touches: [receivedInvitations.queryKey, me.queryKey] },
  );
  const decline = useAct((_: void, key) => call(declineInvitation, { path: { id } }, { key }), {
    touches: [receivedInvitations.queryKey],
    onDone: () => notify({ title: t("signIn.declined", { name: tenant.name }) }),
  });
  const rights = {
    owner: t("signIn.roleOwner"),
    member: t("signIn.roleMember"),
    viewer: t("signIn.roleViewer"),
  };
  const error = accept.error ?? decline.error;
  return (
    <Row
      title={<span className="font-medium">{tenant.name}</span>}
      hint={
        <>
          <span className="block">
            {t("signIn.invitedBy", {
              email: invitation.invited_by,
              role: roleWord(role, t),
              day: day(invitation.expires_at),
            })}
          </span>
          <span className="block">{rights[role]}</span>
          {error && <ErrorLine error={error} className="mt-2" />}
        </>
      }
    >
      <Button kind="quiet" busy={decline.busy} onClick={() => decline.run()}>
        {t("signIn.decline")}
      </Button>
      <Button kind="primary" busy={accept.busy} onClick={() => accept.run()}>
        {t("signIn.accept")}
      </Button>
    </Row>
  );
}
