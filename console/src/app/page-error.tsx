import { type ErrorComponentProps, useRouter } from "@tanstack/react-router";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { ErrorPage } from "@/ui/error";
import { Brand } from "./brand";

export function PageError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const retry = () => {
    reset();
    void router.invalidate();
  };
  return <ErrorPage error={error} onRetry={retry} />;
}

export function NotFound() {
  const { t } = useText();
  return (
    <div className="mx-auto max-w-112 px-5 py-16">
      <title>{`${t("ui.notFound")} · Atelier`}</title>
      <div className="mb-8">
        <Brand />
      </div>
      <h1 className="font-medium font-serif text-xl">{t("ui.notFound")}</h1>
      <p className="mt-2 mb-5 text-ink-2">{t("ui.notFoundHint")}</p>
      <ButtonLink to="/">{t("ui.toStart")}</ButtonLink>
    </div>
  );
}
