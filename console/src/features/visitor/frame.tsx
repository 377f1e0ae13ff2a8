import { getRouteApi, Link, Outlet } from "@tanstack/react-router";
import { Brand } from "@/app/brand";
import { languages, setLanguage, useText } from "@/i18n";
import { useStore } from "@/lib/store";
import { setTheme, theme, themes } from "@/lib/theme";
import { ButtonLink } from "@/ui/button";
import { Segmented } from "@/ui/segmented";

const route = getRouteApi("/_public");

/** The demo has no gateway, which serves the reference. */
const hasReference = import.meta.env.MODE !== "demo";

/** Around the pages for everybody: no sidebar, nothing of the studio. */
export function PublicFrame() {
  return (
    <div className="mx-auto flex min-h-dvh max-w-6xl flex-col px-5 md:px-8">
      <Head />
      <main id="content" className="flex-1 pt-4 pb-16 md:pt-6">
        <Outlet />
      </main>
      <Foot />
    </div>
  );
}

const link = "rounded-sm text-ink-2 hover:text-ink hover:underline";

function Head() {
  const { t } = useText();
  const { caller } = route.useRouteContext();
  return (
    <header className="flex h-16 items-center gap-x-6 gap-y-2">
      <Link to="/" className="mr-auto rounded-md">
        <Brand />
      </Link>
      <nav aria-label={t("nav.main")} className="flex items-center gap-5 text-sm">
        <Link to="/prices" className={link} activeProps={{ className: "font-medium text-ink" }}>
          {t("visitor.prices")}
        </Link>
        {hasReference && (
          <a href="/api" className={`${link} max-md:hidden`}>
            {t("visitor.reference")}
          </a>
        )}
      </nav>
      {caller ? (
        <ButtonLink to="/">{t("visitor.toStudio")}</ButtonLink>
      ) : (
        <ButtonLink kind="primary" to="/sign-in">
          {t("visitor.signIn")}
        </ButtonLink>
      )}
    </header>
  );
}

function Foot() {
  const { t, language } = useText();
  const look = useStore(theme);
  const words = { system: t("nav.themeSystem"), light: t("nav.themeLight"), dark: t("nav.themeDark") };
  return (
    <footer className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 border-line border-t py-5 text-sm">
      <p className="flex flex-wrap gap-x-5 gap-y-1 text-ink-2">
        <span>{t("visitor.byInvitation")}</span>
        {hasReference && (
          <a href="/api" className={`${link} md:hidden`}>
            {t("visitor.reference")}
          </a>
        )}
      </p>
      <div className="flex flex-wrap gap-3">
        <Segmented
          label={t("nav.language")}
          value={language}
          onChange={(next) => void setLanguage(next)}
          choices={(["en", "zh-CN"] as const).map((value) => ({ value, label: languages[value] }))}
        />
        <Segmented
          label={t("nav.theme")}
          value={look}
          onChange={setTheme}
          choices={themes.map((value) => ({ value, label: words[value] }))}
        />
      </div>
    </footer>
  );
}
