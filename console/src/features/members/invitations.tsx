import { call } from "@/api/client";
import { withdrawInvitation } from "@/api/generated/operations";
import type { Invitation, Member, TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { describe } from "@/ui/error";
import { type Column, Table } from "@/ui/table";
import { notify } from "@/ui/toast";
import { invitations } from "./queries";

export function Invitations({
  tenant,
  items,
  people,
}: {
  tenant: TenantId;
  items: readonly Invitation[];
  people: readonly Member[];
}) {
  const { t } = useText();
  const { day } = useFormat();
  const words = { owner: t("members.owner"), member: t("members.member"), viewer: t("members.viewer") };
  const inviter = (it: Invitation) =>
    t("members.invitedBy", {
      name: people.find((member) => member.user_id === it.invited_by)?.display_name ?? "–",
    });
  const who = (it: Invitation) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium">{it.email}</span>
      <span className="block truncate text-ink-3 text-xs">{inviter(it)}</span>
    </span>
  );
  const columns: Column<Invitation>[] = [
    { key: "person", label: t("members.email"), width: "minmax(12rem, 1fr)", cell: who },
    {
      key: "role",
      label: t("members.role"),
      width: "9rem",
      cell: (it) => <span className="text-sm">{words[it.role]}</span>,
    },
    {
      key: "expires",
      label: t("members.expires"),
      width: "9rem",
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.expires_at)}</span>,
    },
    {
      key: "withdraw",
      label: t("members.withdraw"),
      hiddenLabel: true,
      width: "6rem",
      end: true,
      cell: (it) => <Withdraw tenant={tenant} invitation={it} />,
    },
  ];
  return (
    <Table
      label={t("members.invitations")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={null}
      narrow={(it) => (
        <div className="flex items-center justify-between gap-3">
          <span className="min-w-0">
            {who(it)}
            <span className="num block text-ink-3 text-xs">
              {words[it.role]} · {t("members.expires")} {day(it.expires_at)}
            </span>
          </span>
          <Withdraw tenant={tenant} invitation={it} />
        </div>
      )}
    />
  );
}

function Withdraw({ tenant, invitation }: { tenant: TenantId; invitation: Invitation }) {
  const { t } = useText();
  const { email } = invitation;
  const withdraw = useAct(
    (_: void, key) =>
      call(withdrawInvitation, { path: { id: tenant, invitation_id: invitation.id } }, { key }),
    {
      touches: [invitations(tenant).queryKey],
      onDone: () => notify({ title: t("members.withdrawn", { email }) }),
      onFailed: (error) => notify({ failed: true, title: email, detail: describe(error, t) }),
    },
  );
  return (
    <Button
      small
      busy={withdraw.busy}
      aria-label={t("members.withdrawOf", { email })}
      onClick={() => withdraw.run()}
    >
      {t("members.withdraw")}
    </Button>
  );
}
