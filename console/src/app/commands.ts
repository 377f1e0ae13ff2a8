import { useNavigate } from "@tanstack/react-router";
import type { LucideIcon } from "lucide-react";
import { Building2, Languages, LogOut, Moon, Plus, Sun, UserPlus } from "lucide-react";
import { useMe } from "@/api/session";
import { switchTenant } from "@/api/tenant";
import { languages, useText } from "@/i18n";
import { setTheme } from "@/lib/theme";
import { describe } from "@/ui/error";
import { notify } from "@/ui/toast";
import { useLanguageChoice } from "./language";
import { pagesFor } from "./pages";
import { useSignOut } from "./person-menu";
import { whyNot } from "./roles";

export interface Command {
  key: string;
  group: "pages" | "actions" | "things";
  label: string;
  icon: LucideIcon;
  run: () => void;
}

/** What the palette offers: every page, and what one can do from anywhere. What the role forbids is not offered. */
export function useCommands(): Command[] {
  const { t, language } = useText();
  const me = useMe();
  const navigate = useNavigate();
  const leave = useSignOut();
  const chooseLanguage = useLanguageChoice();
  const pages = pagesFor(me).map(
    (page): Command => ({
      key: page.label,
      group: "pages",
      label: t(page.label),
      icon: page.icon,
      run: () => void navigate({ to: page.to }),
    }),
  );
  const action = (key: string, label: string, icon: LucideIcon, run: () => void): Command => ({
    key,
    group: "actions",
    label,
    icon,
    run,
  });
  const others = me.memberships.filter((it) => it.state === "active" && it.tenant.id !== me.tenant_id);
  const go = (to: "/members" | "/api-keys", open: "invite" | "create") => () =>
    void navigate({ to, search: { open } as never });
  return [
    ...pages,
    ...(whyNot(me, "members.invite", t)
      ? []
      : [action("invite", t("members.invite"), UserPlus, go("/members", "invite"))]),
    ...(whyNot(me, "keys.write", t)
      ? []
      : [action("key", t("keys.create"), Plus, go("/api-keys", "create"))]),
    ...others.map(({ tenant }) =>
      action(tenant.id, t("nav.switchTo", { name: tenant.name }), Building2, () => {
        switchTenant(tenant.id).catch((error: unknown) =>
          notify({ failed: true, title: t("nav.switchFailed"), detail: describe(error, t) }),
        );
      }),
    ),
    action("light", `${t("nav.theme")}: ${t("nav.themeLight")}`, Sun, () => setTheme("light")),
    action("dark", `${t("nav.theme")}: ${t("nav.themeDark")}`, Moon, () => setTheme("dark")),
    ...(Object.keys(languages) as (keyof typeof languages)[])
      .filter((it) => it !== language)
      .map((it) => action(it, languages[it], Languages, () => chooseLanguage(it))),
    action("out", t("nav.signOut"), LogOut, () => leave.run()),
  ];
}
