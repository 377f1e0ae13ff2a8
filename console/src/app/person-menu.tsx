import { useNavigate } from "@tanstack/react-router";
import { ChevronsUpDown, LogOut, Monitor, Moon, Settings, Sun } from "lucide-react";
import { useAct } from "@/api/query";
import { signOut, useMe } from "@/api/session";
import { useText } from "@/i18n";
import { useStore } from "@/lib/store";
import { setTheme, theme, themes } from "@/lib/theme";
import { describe } from "@/ui/error";
import { Menu } from "@/ui/menu";
import { notify } from "@/ui/toast";

export function useSignOut() {
  const { t } = useText();
  return useAct(signOut, {
    onFailed: (error) => notify({ failed: true, title: t("nav.signOut"), detail: describe(error, t) }),
  });
}

const icons = { system: Monitor, light: Sun, dark: Moon };

/** The person, and what is about them. */
export function PersonMenu() {
  const { t } = useText();
  const { user } = useMe();
  const navigate = useNavigate();
  const leave = useSignOut();
  const look = useStore(theme);
  const next = themes[(themes.indexOf(look) + 1) % themes.length] ?? "system";
  const words = { system: t("nav.themeSystem"), light: t("nav.themeLight"), dark: t("nav.themeDark") };
  const ThemeIcon = icons[look];
  return (
    <Menu
      align="start"
      trigger={
        <button
          type="button"
          className="flex w-full cursor-pointer items-center justify-between gap-2 rounded-md px-2 py-1.5 text-left text-sm hover:bg-wash data-popup-open:bg-wash"
        >
          <span className="min-w-0">
            <span className="block truncate font-medium">{user.display_name}</span>
            <span className="block truncate text-ink-3 text-xs">{user.email}</span>
          </span>
          <ChevronsUpDown className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
        </button>
      }
      entries={[
        {
          key: "account",
          label: t("nav.account"),
          icon: <Settings className="size-4" aria-hidden="true" />,
          onSelect: () => void navigate({ to: "/account" }),
        },
        {
          key: "theme",
          label: `${t("nav.theme")}: ${words[look]}`,
          icon: <ThemeIcon className="size-4" aria-hidden="true" />,
          stays: true,
          onSelect: () => setTheme(next),
        },
        "line",
        {
          key: "out",
          label: t("nav.signOut"),
          icon: <LogOut className="size-4" aria-hidden="true" />,
          onSelect: () => leave.run(),
        },
      ]}
    />
  );
}
