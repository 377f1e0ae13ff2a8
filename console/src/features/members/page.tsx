import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import type { Member } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { useTenant } from "@/app/needs-tenant";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { PageHead, Section } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { Invitations } from "./invitations";
import { InviteDialog } from "./invite";
import { MemberMenu, RoleSelect } from "./member";
import { invitations, mayListInvitations, members } from "./queries";

const route = getRouteApi("/_app/members");

export function MembersPage() {
  const { t } = useText();
  const me = useMe();
  const tenant = useTenant();
  const { items } = useLoaded(members(tenant));
  const { data: open } = useQuery({ ...invitations(tenant), enabled: mayListInvitations(me) });
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const reason = useWhyNot("members.invite");
  const show = (dialog: "invite" | undefined) => void navigate({ search: { open: dialog }, replace: true });
  const owners = items.filter((it) => it.role === "owner").length;
  const people = t("members.people", { count: items.length });
  const ownersText = t("members.owners", { count: owners });
  return (
    <>
      <PageHead
        title={t("members.title")}
        actions={
          <Button kind="primary" disabled={reason} onClick={() => show("invite")}>
            <UserPlus className="size-4" aria-hidden="true" />
            {t("members.invite")}
          </Button>
        }
      >
        {open && open.items.length > 0
          ? t("members.summaryOpen", {
              people,
              owners: ownersText,
              open: t("members.open", { count: open.items.length }),
            })
          : t("members.summary", { people, owners: ownersText })}
      </PageHead>
      <People items={items} owners={owners} />
      {open && open.items.length > 0 && (
        <Section title={t("members.invitations")} hint={t("members.invitationsHint")}>
          <Invitations tenant={tenant} items={open.items} people={items} />
        </Section>
      )}
      {!reason && (
        <InviteDialog tenant={tenant} open={search.open === "invite"} onClose={() => show(undefined)} />
      )}
    </>
  );
}

function People({ items, owners }: { items: readonly Member[]; owners: number }) {
  const { t } = useText();
  const { day } = useFormat();
  const me = useMe();
  const name = (member: Member) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium">
        {member.display_name}
        {member.user_id === me.user.id && (
          <span className="ml-1.5 font-normal text-ink-3">{t("ui.you")}</span>
        )}
      </span>
      <span className="block truncate text-ink-3 text-xs">{member.email}</span>
    </span>
  );
  const columns: Column<Member>[] = [
    { key: "person", label: t("members.person"), width: "minmax(12rem, 1fr)", cell: name },
    {
      key: "role",
      label: t("members.role"),
      width: "9rem",
      cell: (member) => <RoleSelect member={member} owners={owners} />,
    },
    {
      key: "since",
      label: t("members.since"),
      width: "9rem",
      cell: (member) => <span className="num text-ink-2 text-sm">{day(member.created_at)}</span>,
    },
    {
      key: "actions",
      label: t("members.remove"),
      hiddenLabel: true,
      width: "6rem",
      end: true,
      cell: (member) => <MemberMenu member={member} owners={owners} />,
    },
  ];
  return (
    <Table
      label={t("members.title")}
      items={items}
      columns={columns}
      rowKey={(member) => member.user_id}
      empty={null}
      narrow={(member) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-2">
          {name(member)}
          <MemberMenu member={member} owners={owners} />
          <RoleSelect member={member} owners={owners} />
        </div>
      )}
    />
  );
}
