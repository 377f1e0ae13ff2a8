import { useState } from "react";
import { call } from "@/api/client";
import { removeMember, updateMember } from "@/api/generated/operations";
import type { Member, Role } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { me as meQuery, sessionChanged, useMe } from "@/api/session";
import { useTenant } from "@/app/needs-tenant";
import { roleWord, useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import { Select } from "@/ui/select";
import { notify } from "@/ui/toast";
import { members } from "./queries";

interface Props {
  member: Member;
  /** Of the studio: it needs one. */
  owners: number;
}

export function RoleSelect({ member, owners }: Props) {
  const { t } = useText();
  const me = useMe();
  const tenant = useTenant();
  const reason = useWhyNot("members.change");
  const [own, setOwn] = useState<Role | null>(null);
  const isSelf = member.user_id === me.user.id;
  const change = useAct(
    (role: Role, key) =>
      call(
        updateMember,
        { path: { id: tenant, user_id: member.user_id }, headers: { "If-Match": "*" }, body: { role } },
        { key },
      ),
    {
      touches: [members(tenant).queryKey, ...(isSelf ? [meQuery.queryKey] : [])],
      onDone: (_, role) => {
        setOwn(null);
        notify({ title: t("members.changed", { name: member.display_name, role: roleWord(role, t) }) });
      },
      onFailed: (error) => {
        if (!own) notify({ failed: true, title: member.display_name, detail: describe(error, t) });
      },
    },
  );
  const words = { owner: t("members.owner"), member: t("members.member"), viewer: t("members.viewer") };
  if (reason || (isSelf && owners === 1)) return <span className="text-sm">{words[member.role]}</span>;
  const hints = {
    owner: t("signIn.roleOwner"),
    member: t("signIn.roleMember"),
    viewer: t("signIn.roleViewer"),
  };
  const ask = (role: Role) => {
    if (role === member.role) return;
    if (isSelf && member.role === "owner") setOwn(role);
    else change.run(role);
  };
  return (
    <>
      <Select
        small
        label={t("members.roleOf", { name: member.display_name })}
        value={change.variables ?? member.role}
        onChange={ask}
        choices={(["owner", "member", "viewer"] as const).map((value) => ({
          value,
          label: words[value],
          hint: hints[value],
        }))}
      />
      <ConfirmDialog
        open={own !== null}
        onClose={() => setOwn(null)}
        onConfirm={() => own && change.run(own)}
        busy={change.busy}
        error={change.error}
        title={t("members.demoteTitle")}
        verb={t("members.demoteVerb", { role: own ? roleWord(own, t) : "" })}
      >
        <p>{t("members.demoteHint")}</p>
      </ConfirmDialog>
    </>
  );
}

export function MemberMenu({ member, owners }: Props) {
  const { t } = useText();
  const me = useMe();
  const tenant = useTenant();
  const reason = useWhyNot("members.remove");
  const [open, setOpen] = useState(false);
  const isSelf = member.user_id === me.user.id;
  const name = member.display_name;
  const studio = me.memberships.find((it) => it.tenant.id === tenant)?.tenant.name ?? "";
  const remove = useAct(
    (_: void, key) => call(removeMember, { path: { id: tenant, user_id: member.user_id } }, { key }),
    {
      touches: isSelf ? [] : [members(tenant).queryKey],
      onDone: () => {
        if (isSelf) return sessionChanged("session-changed");
        setOpen(false);
        notify({ title: t("members.removed", { name }) });
      },
    },
  );
  const isLast = member.role === "owner" && owners === 1;
  return (
    <>
      <ActionMenu
        label={t("members.actions", { name })}
        entries={[
          {
            key: "remove",
            label: isSelf ? t("members.leave") : t("members.remove"),
            danger: true,
            disabled: isLast ? t("members.lastOwner") : !isSelf && reason,
            onSelect: () => setOpen(true),
          },
        ]}
      />
      <ConfirmDialog
        open={open}
        onClose={() => {
          setOpen(false);
          remove.reset();
        }}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={isSelf ? t("members.leaveTitle", { studio }) : t("members.removeTitle", { name })}
        verb={isSelf ? t("members.leaveVerb") : t("members.removeVerb")}
      >
        <p>{isSelf ? t("members.leaveHint") : t("members.removeHint", { name })}</p>
        {!isSelf && <p>{t("members.removeStays")}</p>}
      </ConfirmDialog>
    </>
  );
}
