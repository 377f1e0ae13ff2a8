import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Check, ChevronsUpDown } from "lucide-react";
import type { TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { receivedInvitations, useMe } from "@/api/session";
import { switchTenant } from "@/api/tenant";
import { useText } from "@/i18n";
import { describe } from "@/ui/error";
import { Menu } from "@/ui/menu";
import type { MenuEntry } from "@/ui/menu-entry";
import { notify } from "@/ui/toast";
import { roleWord } from "./roles";

/** For which studio one acts, and the way to the others. */
export function TenantMenu() {
  const { t } = useText();
  const me = useMe();
  const navigate = useNavigate();
  const { data: invitations } = useQuery(receivedInvitations);
  const change = useAct((id: TenantId) => switchTenant(id), {
    onFailed: (error) => notify({ failed: true, title: t("nav.switchFailed"), detail: describe(error, t) }),
  });
  const current = me.memberships.find((it) => it.tenant.id === me.tenant_id);
  const open = invitations?.items.length ?? 0;
  const studios: MenuEntry[] = me.memberships.map(({ tenant, role, state }) => ({
    key: tenant.id,
    label: tenant.name,
    note: state === "active" ? roleWord(role, t) : t("nav.suspended"),
    icon: (
      <span className="size-4">
        {tenant.id === me.tenant_id && <Check className="size-4" aria-hidden="true" />}
      </span>
    ),
    disabled: state !== "active" && t("nav.suspended"),
    onSelect: () => tenant.id !== me.tenant_id && change.run(tenant.id),
  }));
  const entries: (MenuEntry | "line")[] = [
    ...studios,
    ...(studios.length > 0 ? (["line"] as const) : []),
    {
      key: "invitations",
      label: open > 0 ? t("nav.openInvitations", { count: open }) : t("nav.invitations"),
      icon: <span className="size-4" />,
      onSelect: () => void navigate({ to: "/invitations" }),
    },
  ];
  const role = current && roleWord(current.role, t);
  return (
    <Menu
      align="start"
      entries={entries}
      trigger={
        <button
          type="button"
          className="mb-3 flex w-full cursor-pointer items-center justify-between gap-2 rounded-md border border-line bg-sheet px-2.5 py-1.5 text-left text-sm hover:border-line-strong data-popup-open:border-line-strong max-md:mb-0"
        >
          <span className="min-w-0">
            <span className="block truncate font-medium">{current?.tenant.name ?? t("nav.noStudio")}</span>
            <span className="block truncate text-ink-3 text-xs">
              {[role, me.user.admin && t("nav.administrator")].filter(Boolean).join(" · ")}
              {open > 0 && (
                <span className="font-medium text-ochre">
                  {role || me.user.admin ? " · " : ""}
                  {t("nav.openInvitations", { count: open })}
                </span>
              )}
            </span>
          </span>
          <ChevronsUpDown className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
        </button>
      }
    />
  );
}
