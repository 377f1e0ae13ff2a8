import { clsx } from "clsx";
import { ApiError, NetworkError } from "@/api/problem";
import { isKey, type Text, useText } from "@/i18n";
import { Button } from "./button";
import { CopyIconButton } from "./copy";

/** The sentence for a person: ours where the type is known, else the API's own. */
export function describe(error: unknown, t: Text): string {
  if (error instanceof NetworkError) return t("ui.noAnswer");
  if (!(error instanceof ApiError)) return t("ui.unexpected");
  // of fields that this form does not have
  const fields = Object.values(error.fields);
  if (error.is("invalid-field") && fields.length > 0) return fields.join(" ");
  return knownProblem(error.slug, t) ?? [error.problem.detail, error.problem.next].filter(Boolean).join(" ");
}

export function knownProblem(slug: string, t: Text): string | null {
  const key = `problems.${slug}`;
  return isKey(key) ? t(key) : null;
}

export function RequestId({ error }: { error: unknown }) {
  const { t } = useText();
  const id = error instanceof ApiError ? error.requestId : null;
  if (!id) return null;
  return (
    <span className="flex items-center gap-1 text-ink-3 text-xs">
      <span className="min-w-0 truncate">
        {t("ui.request")} <code className="font-mono">{id}</code>
      </span>
      <CopyIconButton text={id} label={t("ui.copyRequest")} />
    </span>
  );
}

/** In the dialog or form that caused it: announced, and scrolled to nowhere. */
export function ErrorLine({ error, className }: { error: unknown; className?: string | undefined }) {
  const { t } = useText();
  return (
    <div
      role="alert"
      className={clsx("rounded-md border border-vermilion bg-vermilion-wash px-3 py-2 text-sm", className)}
    >
      <p className="text-vermilion">{describe(error, t)}</p>
      <RequestId error={error} />
    </div>
  );
}

/** In place of a page that could not be loaded. */
export function ErrorPage({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const { t } = useText();
  const isMissing = error instanceof ApiError && error.status === 404;
  return (
    <div className="mx-auto max-w-112 py-16" role="alert">
      <h1 className="font-medium font-serif text-xl">{isMissing ? t("ui.notFound") : t("ui.notLoaded")}</h1>
      <p className="mt-2 text-ink-2">{isMissing ? t("ui.notFoundHint") : describe(error, t)}</p>
      <div className="mt-5 flex flex-wrap items-center gap-4">
        {onRetry && <Button onClick={onRetry}>{t("ui.tryAgain")}</Button>}
        <RequestId error={error} />
      </div>
    </div>
  );
}
