import { useState } from "react";
import { call } from "@/api/client";
import { createSession } from "@/api/generated/operations";
import type { Credentials, SessionTokens, TenantId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { answerChallenge, hasPasskeys, PasskeyCancelled } from "./passkey";
import { SignInError, useLock } from "./sign-in-error";

interface Props {
  email: string;
  password: string;
  tenant: TenantId | null;
  onDone: (session: SessionTokens) => void;
  onBack: () => void;
}

/** A code of the app, a recovery code, or a passkey, after the password was right. */
export function FactorForm({ email, password, tenant, onDone, onBack }: Props) {
  const { t } = useText();
  const [isRecovery, setRecovery] = useState(false);
  const send = (proof: Pick<Credentials, "totp" | "passkey">, key: string) =>
    call(
      createSession,
      { body: { email, password, cookie: true, ...proof, ...(tenant && { tenant_id: tenant }) } },
      { anonymous: true, key },
    );
  const code = useAct((totp: string, key) => send({ totp }, key), { onDone });
  const passkey = useAct(async (_: void, key) => send({ passkey: await answerChallenge() }, key), { onDone });
  const { lockedFor, disabled } = useLock(code.error);
  const isWrong =
    code.error instanceof ApiError && code.error.is("wrong-credentials", "second-factor-required");
  const form = useForm({
    initial: { code: "" },
    check: (values) => ({ code: values.code.trim() ? undefined : t("signIn.codeMissing") }),
    send: (values) => code.run(values.code.replaceAll(" ", "")),
    error: code.error,
  });
  const field = form.text("code");
  const wrong = isRecovery ? t("signIn.recoveryWrong") : t("signIn.codeWrong");
  return (
    <form
      noValidate
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!lockedFor) form.submit();
      }}
    >
      <p className="text-ink-2 text-sm">
        <span className="block font-medium text-base text-ink">{t("signIn.factorTitle")}</span>
        {isRecovery ? t("signIn.recoveryHint") : t("signIn.factorHint", { email })}
      </p>
      <TextField
        {...field}
        key={String(isRecovery)}
        label={isRecovery ? t("signIn.recoveryCode") : t("signIn.code")}
        error={field.error ?? (isWrong ? wrong : undefined)}
        inputMode={isRecovery ? "text" : "numeric"}
        autoComplete="one-time-code"
        autoFocus
        spellCheck={false}
      />
      {!isWrong && <SignInError error={code.error} lockedFor={lockedFor} />}
      {passkey.error && !(passkey.error instanceof PasskeyCancelled) && <ErrorLine error={passkey.error} />}
      <Button kind="primary" type="submit" busy={code.busy} disabled={disabled} className="w-full">
        {t("signIn.confirm")}
      </Button>
      <div className="flex flex-col gap-1 border-line border-t pt-3">
        {hasPasskeys() && (
          <Button kind="quiet" busy={passkey.busy} onClick={() => passkey.run()}>
            {t("signIn.factorPasskey")}
          </Button>
        )}
        <Button
          kind="quiet"
          onClick={() => {
            form.reset();
            code.reset();
            setRecovery(!isRecovery);
          }}
        >
          {isRecovery ? t("signIn.useApp") : t("signIn.recovery")}
        </Button>
        <Button kind="quiet" onClick={onBack}>
          {t("signIn.back")}
        </Button>
      </div>
    </form>
  );
}
