import { getRouteApi, Link } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { call } from "@/api/client";
import { removeMember, updateMember } from "@/api/generated/operations";
import type { Member, Role, TenantId } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { roleWord } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import { Empty, Section } from "@/ui/page";
import { Select } from "@/ui/select";
import { type Column, Table } from "@/ui/table";
import { notify } from "@/ui/toast";
import { OpenInvitations } from "./invitations";
import { invitations, members, tenant } from "./queries";

const AddMemberDialog = lazy(() => import("./add-member"));

const route = getRouteApi("/_app/admin/tenants/$id");

export function TenantMembers() {
  const { t } = useText();
  const { id } = route.useParams();
  const it = useLoaded(tenant(id));
  const { items } = useLoaded(members(id));
  const { items: open } = useLoaded(invitations(id));
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Member | null>(null);
  const add = (
    <Button small onClick={() => setAdding(true)}>
      <UserPlus className="size-4" aria-hidden="true" />
      {t("tenants.addMember")}
    </Button>
  );
  return (
    <>
      <Section title={t("tenants.members")} actions={add}>
        <People tenantId={it.id} items={items} onRemove={setRemoving} add={add} />
      </Section>
      {open.length > 0 && (
        <Section title={t("members.invitations")} hint={t("members.invitationsHint")}>
          <OpenInvitations tenantId={it.id} items={open} />
        </Section>
      )}
      <Suspense>{adding && <AddMemberDialog tenantId={it.id} onClose={() => setAdding(false)} />}</Suspense>
      {removing && <RemoveDialog tenantId={it.id} member={removing} onClose={() => setRemoving(null)} />}
    </>
  );
}

function People({
  tenantId,
  items,
  onRemove,
  add,
}: {
  tenantId: TenantId;
  items: readonly Member[];
  onRemove: (member: Member) => void;
  add: React.ReactNode;
}) {
  const { t } = useText();
  const { day } = useFormat();
  const name = (member: Member) => (
    <Link
      to="/admin/users/$id"
      params={{ id: member.user_id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {member.display_name}
    </Link>
  );
  const menu = (member: Member) => (
    <ActionMenu
      label={t("members.actions", { name: member.display_name })}
      entries={[
        { key: "remove", label: t("members.remove"), danger: true, onSelect: () => onRemove(member) },
      ]}
    />
  );
  const columns: Column<Member>[] = [
    { key: "name", label: t("members.person"), width: "minmax(9rem, 1fr)", cell: name },
    {
      key: "email",
      label: t("members.email"),
      width: "minmax(12rem, 1.4fr)",
      cell: (it) => <span className="block truncate text-ink-2 text-sm">{it.email}</span>,
    },
    {
      key: "role",
      label: t("members.role"),
      width: "8rem",
      cell: (it) => <RoleSelect tenantId={tenantId} member={it} />,
    },
    {
      key: "since",
      label: t("members.since"),
      width: "7rem",
      end: true,
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.created_at)}</span>,
    },
    {
      key: "menu",
      label: t("platform.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("tenants.members")}
      items={items}
      columns={columns}
      rowKey={(it) => it.user_id}
      rowHeight={36}
      empty={
        <Empty title={t("tenants.noMembers")} actions={add}>
          {t("tenants.noMembersHint")}
        </Empty>
      }
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-2 [&>:nth-child(even)]:justify-self-end">
          {name(it)}
          {menu(it)}
          <span className="truncate text-ink-3 text-xs">{it.email}</span>
          <RoleSelect tenantId={tenantId} member={it} />
        </div>
      )}
    />
  );
}

function RoleSelect({ tenantId, member }: { tenantId: TenantId; member: Member }) {
  const { t } = useText();
  const name = member.display_name;
  const change = useAct(
    (role: Role, key) =>
      call(
        updateMember,
        {
          path: { id: tenantId, user_id: member.user_id },
          headers: { "If-Match": "*" },
          body: { role },
        },
        { key },
      ),
    {
      touches: [["platform", "members", tenantId]],
      onDone: (_, role) => notify({ title: t("members.changed", { name, role: roleWord(role, t) }) }),
      onFailed: (error) => notify({ failed: true, title: name, detail: describe(error, t) }),
    },
  );
  return (
    <Select
      small
      label={t("members.roleOf", { name })}
      value={change.variables ?? member.role}
      onChange={(role) => role !== member.role && change.run(role)}
      choices={[
        { value: "owner", label: t("members.owner") },
        { value: "member", label: t("members.member") },
        { value: "viewer", label: t("members.viewer") },
      ]}
    />
  );
}

function RemoveDialog({
  tenantId,
  member,
  onClose,
}: {
  tenantId: TenantId;
  member: Member;
  onClose: () => void;
}) {
  const { t } = useText();
  const name = member.display_name;
  const remove = useAct(
    (_: void, key) => call(removeMember, { path: { id: tenantId, user_id: member.user_id } }, { key }),
    {
      touches: [["platform", "members", tenantId]],
      onDone: () => {
        onClose();
        notify({ title: t("members.removed", { name }) });
      },
    },
  );
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("members.removeTitle", { name })}
      verb={t("members.removeVerb")}
    >
      <p>{t("members.removeHint", { name })}</p>
      <p>{t("members.removeStays")}</p>
    </ConfirmDialog>
  );
}
