import { useState } from "react";
import { ApiError } from "@/api/problem";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { ErrorLine } from "@/ui/error";

/** How long the API refuses further attempts, counted down. */
export function useLock(error: Error | null) {
  const { t } = useText();
  const now = useNow();
  const [seen, setSeen] = useState<{ error: Error | null; until: number }>({ error: null, until: 0 });
  if (seen.error !== error) {
    const seconds = error instanceof ApiError && error.status === 429 ? (error.retryAfter ?? 30) : 0;
    setSeen({ error, until: now + seconds * 1000 });
  }
  const lockedFor = Math.max(0, Math.ceil((seen.until - now) / 1000));
  return { lockedFor, disabled: lockedFor > 0 && t("signIn.waitFirst") };
}

export function SignInError({ error, lockedFor }: { error: Error | null; lockedFor: number }) {
  const { t } = useText();
  if (!error) return null;
  const box = "rounded-md border px-3 py-2 text-sm";
  if (error instanceof ApiError) {
    if (error.is("second-factor-required")) return null;
    if (error.status === 429)
      return lockedFor > 0 ? (
        <p role="alert" className={`${box} num border-ochre bg-ochre-wash text-ochre`}>
          {t("signIn.waiting", { seconds: lockedFor })}
        </p>
      ) : null;
    if (error.is("wrong-credentials"))
      return (
        <p role="alert" className={`${box} border-vermilion bg-vermilion-wash text-vermilion`}>
          {t("signIn.wrong")}
        </p>
      );
  }
  return <ErrorLine error={error} />;
}
