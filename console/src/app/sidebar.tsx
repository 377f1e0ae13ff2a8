import { Link } from "@tanstack/react-router";
import { Menu as MenuIcon, X } from "lucide-react";
import { useState } from "react";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { Brand } from "./brand";
import { LiveMark } from "./live-mark";
import { type Page, pagesFor } from "./pages";
import { PersonMenu } from "./person-menu";
import { TenantMenu } from "./tenant-menu";

export function Sidebar({ onPalette, onReach }: { onPalette: () => void; onReach: () => void }) {
  return (
    <aside className="sticky top-0 hidden h-dvh flex-col overflow-y-auto border-line border-r px-3 py-4 md:flex">
      <Link to="/" className="mb-5 self-start rounded-md px-2">
        <Brand />
      </Link>
      <TenantMenu />
      <Find onPalette={onPalette} onReach={onReach} />
      <Pages />
      <div className="mt-auto space-y-2 pt-4">
        <PersonMenu />
        <LiveMark />
      </div>
    </aside>
  );
}

/** The bar at the top of a narrow screen, and the menu under it. */
export function TopBar({ onPalette }: { onPalette: () => void }) {
  const { t } = useText();
  const [open, setOpen] = useState(false);
  const Icon = open ? X : MenuIcon;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape closes what its button opened
    <header
      className="sticky top-0 z-10 border-line border-b bg-paper md:hidden"
      onKeyDown={(event) => event.key === "Escape" && setOpen(false)}
    >
      <div className="flex h-13 items-center justify-between gap-3 pr-3 pl-5">
        <Link to="/" onClick={() => setOpen(false)}>
          <Brand />
        </Link>
        <button
          type="button"
          aria-label={t("nav.menu")}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="grid size-10 cursor-pointer place-items-center rounded-md text-ink-2 hover:bg-wash"
        >
          <Icon className="size-5" aria-hidden="true" />
        </button>
      </div>
      {open && (
        <div className="absolute inset-x-3 top-12 max-h-[calc(100dvh-4rem)] space-y-3 overflow-y-auto rounded-lg border border-float bg-sheet p-3 shadow-float">
          <TenantMenu />
          <Find
            onPalette={() => {
              setOpen(false);
              onPalette();
            }}
          />
          <Pages onGo={() => setOpen(false)} />
          <PersonMenu />
          <LiveMark />
        </div>
      )}
    </header>
  );
}

function Find({ onPalette, onReach }: { onPalette: () => void; onReach?: () => void }) {
  const { t } = useText();
  return (
    <button
      type="button"
      onClick={onPalette}
      onPointerEnter={onReach}
      onFocus={onReach}
      className="mb-3 flex h-8 w-full cursor-pointer items-center justify-between gap-2 rounded-md px-2 text-ink-3 text-sm hover:bg-wash hover:text-ink max-md:mb-0 max-md:h-10"
    >
      {t("nav.search")}
      <kbd className="whitespace-nowrap rounded-sm border border-line px-1 font-sans text-2xs max-md:hidden">
        {navigator.platform.startsWith("Mac") ? "⌘K" : "Ctrl K"}
      </kbd>
    </button>
  );
}

function Pages({ onGo }: { onGo?: () => void }) {
  const { t } = useText();
  const pages = pagesFor(useMe());
  const groups = (["work", "studio", "platform", "catalogue"] as const)
    .map((group) => pages.filter((page) => page.group === group))
    .filter((group) => group.length > 0);
  return (
    <nav aria-label={t("nav.main")} className="text-sm">
      {groups.map((group) => (
        <ul
          key={group[0]?.group}
          className="flex flex-col gap-px [&+ul]:mt-3 [&+ul]:border-line [&+ul]:border-t [&+ul]:pt-3"
        >
          {group.map((page) => (
            <li key={page.label}>
              <PageLink page={page} onGo={onGo} />
            </li>
          ))}
        </ul>
      ))}
    </nav>
  );
}

function PageLink({ page, onGo }: { page: Page; onGo?: (() => void) | undefined }) {
  const { t } = useText();
  const Icon = page.icon;
  return (
    <Link
      to={page.to}
      activeOptions={{ exact: page.exact ?? false }}
      onClick={onGo}
      className="flex h-8 items-center gap-2.5 rounded-md px-2 text-ink-2 hover:bg-wash hover:text-ink max-md:h-10"
      activeProps={{ className: "bg-wash font-medium text-ink" }}
    >
      <Icon className="size-4" strokeWidth={1.6} aria-hidden="true" />
      {t(page.label)}
    </Link>
  );
}
