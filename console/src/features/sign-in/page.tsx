import { getRouteApi } from "@tanstack/react-router";
import type { SignInProvider } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { safePath } from "@/api/session";
import { Brand } from "@/app/brand";
import { languages, setLanguage, useText } from "@/i18n";
import { leaveTo } from "@/lib/leave";
import { useStore } from "@/lib/store";
import { setTheme, theme, themes } from "@/lib/theme";
import { ButtonAnchor } from "@/ui/button";
import { knownProblem } from "@/ui/error";
import { Select } from "@/ui/select";
import { SignInForm } from "./form";
import { providers } from "./queries";

const route = getRouteApi("/sign-in");

export function SignInPage() {
  const { t } = useText();
  const { return_to, ended, sign_in_error } = route.useSearch();
  const { items } = useLoaded(providers);
  const target = safePath(return_to);
  return (
    <div className="grid min-h-dvh lg:grid-cols-[minmax(28rem,1fr)_minmax(0,1.2fr)]">
      <title>{`${t("signIn.title")} · Atelier`}</title>
      <div className="flex flex-col px-5 py-6 md:px-8">
        <Brand />
        <main className="mx-auto flex w-full max-w-88 flex-1 flex-col justify-center py-10">
          <h1 className="font-medium font-serif text-xl">{t("signIn.title")}</h1>
          <p className="mb-6 text-ink-2 text-sm">{ended ? t("signIn.ended") : t("signIn.intro")}</p>
          {sign_in_error && (
            <p
              role="alert"
              className="mb-4 rounded-md border border-vermilion bg-vermilion-wash px-3 py-2 text-sm text-vermilion"
            >
              {knownProblem(sign_in_error, t) ?? t("problems.sign-in-failed")}
            </p>
          )}
          <SignInForm onDone={() => leaveTo(target)}>
            <Providers items={items} target={target} />
          </SignInForm>
        </main>
        <Settings />
      </div>
      <img
        src={`${import.meta.env.BASE_URL}harbour.svg`}
        alt=""
        className="sticky top-0 hidden h-dvh w-full border-line border-l object-[95%] object-cover lg:block"
      />
    </div>
  );
}

function Providers({ items, target }: { items: readonly SignInProvider[]; target: string }) {
  const { t } = useText();
  return (
    <div className="mt-2 space-y-2">
      {items.map((provider) => (
        <ButtonAnchor
          key={provider.id}
          href={`${provider.path}?return_to=${encodeURIComponent(target)}`}
          className="w-full"
        >
          {t("signIn.provider", { name: provider.name })}
        </ButtonAnchor>
      ))}
    </div>
  );
}

function Settings() {
  const { t, language } = useText();
  const look = useStore(theme);
  const words = { system: t("nav.themeSystem"), light: t("nav.themeLight"), dark: t("nav.themeDark") };
  return (
    <footer className="mx-auto flex w-full max-w-88 gap-2">
      <Select
        small
        label={t("nav.language")}
        value={language}
        onChange={(next) => void setLanguage(next)}
        choices={(Object.keys(languages) as (keyof typeof languages)[]).map((value) => ({
          value,
          label: languages[value],
        }))}
      />
      <Select
        small
        label={t("nav.theme")}
        value={look}
        onChange={setTheme}
        choices={themes.map((value) => ({ value, label: words[value] }))}
      />
    </footer>
  );
}
