import { call } from "@/api/client";
import { withdrawInvitation } from "@/api/generated/operations";
import type { Invitation, TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { roleWord } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { describe } from "@/ui/error";
import { type Column, Table } from "@/ui/table";
import { notify } from "@/ui/toast";

export function OpenInvitations({ tenantId, items }: { tenantId: TenantId; items: readonly Invitation[] }) {
  const { t } = useText();
  const { day } = useFormat();
  const columns: Column<Invitation>[] = [
    { key: "email", label: t("members.email"), width: "minmax(12rem, 1fr)", cell: (it) => it.email },
    {
      key: "role",
      label: t("members.role"),
      width: "8rem",
      cell: (it) => <span className="text-sm">{roleWord(it.role, t)}</span>,
    },
    {
      key: "expires",
      label: t("members.expires"),
      width: "8rem",
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.expires_at)}</span>,
    },
    {
      key: "withdraw",
      label: t("members.withdraw"),
      hiddenLabel: true,
      width: "6rem",
      end: true,
      cell: (it) => <Withdraw tenantId={tenantId} invitation={it} />,
    },
  ];
  return (
    <Table
      label={t("members.invitations")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      empty={null}
      narrow={(it) => (
        <div className="flex items-center justify-between gap-3">
          <span className="min-w-0">
            <span className="block truncate">{it.email}</span>
            <span className="num text-ink-3 text-xs">
              {roleWord(it.role, t)} · {day(it.expires_at)}
            </span>
          </span>
          <Withdraw tenantId={tenantId} invitation={it} />
        </div>
      )}
    />
  );
}

function Withdraw({ tenantId, invitation }: { tenantId: TenantId; invitation: Invitation }) {
  const { t } = useText();
  const { email } = invitation;
  const withdraw = useAct(
    (_: void, key) =>
      call(withdrawInvitation, { path: { id: tenantId, invitation_id: invitation.id } }, { key }),
    {
      touches: [["platform", "invitations", tenantId]],
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
