import { type ReactNode, useState } from "react";
import { call } from "@/api/client";
import { createSession } from "@/api/generated/operations";
import type { SessionTokens, TenantId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { PasswordField, TextField } from "@/ui/field";
import { FactorForm } from "./factor";
import { PasskeyButton } from "./passkey-button";
import { SignInError, useLock } from "./sign-in-error";

interface Props {
  /** Whose sign-in it is, when it is known: the person signs in again. */
  email?: string;
  tenant?: TenantId | null;
  onDone: (session: SessionTokens) => void;
  /** Other ways to sign in, below the passkey. */
  children?: ReactNode;
}

/** Password, then the second factor if the account has one; or a passkey. */
export function SignInForm({ email, tenant, onDone, children }: Props) {
  const [step, setStep] = useState<{ email: string; password: string } | null>(null);
  if (step)
    return <FactorForm {...step} tenant={tenant ?? null} onDone={onDone} onBack={() => setStep(null)} />;
  return (
    <>
      <PasswordForm email={email} tenant={tenant} onDone={onDone} onFactor={setStep} />
      {children}
    </>
  );
}

function PasswordForm({
  email,
  tenant,
  onDone,
  onFactor,
}: {
  email: string | undefined;
  tenant: TenantId | null | undefined;
  onDone: (session: SessionTokens) => void;
  onFactor: (step: { email: string; password: string }) => void;
}) {
  const { t } = useText();
  const signIn = useAct(
    (values: { email: string; password: string }, key) =>
      call(
        createSession,
        { body: { ...values, cookie: true, ...(tenant && { tenant_id: tenant }) } },
        { anonymous: true, key },
      ),
    {
      onDone,
      onFailed: (error, values) => {
        if (error instanceof ApiError && error.is("second-factor-required")) onFactor(values);
      },
    },
  );
  const { lockedFor, disabled } = useLock(signIn.error);
  const form = useForm({
    initial: { email: email ?? "", password: "" },
    check: (values) => ({
      email: values.email.trim() ? undefined : t("signIn.emailMissing"),
      password: values.password ? undefined : t("signIn.passwordMissing"),
    }),
    send: (values) => signIn.run({ email: values.email.trim(), password: values.password }),
    error: signIn.error,
  });
  return (
    <form
      noValidate
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!lockedFor) form.submit();
      }}
    >
      <TextField
        {...form.text("email")}
        type="email"
        label={t("signIn.email")}
        autoComplete="username webauthn"
        readOnly={email !== undefined}
        autoFocus={email === undefined}
      />
      <PasswordField
        {...form.text("password")}
        label={t("signIn.password")}
        autoComplete="current-password"
        autoFocus={email !== undefined}
      />
      <SignInError error={signIn.error} lockedFor={lockedFor} />
      <Button kind="primary" type="submit" busy={signIn.busy} disabled={disabled} className="w-full">
        {t("signIn.submit")}
      </Button>
      <p className="flex items-center gap-3 text-ink-3 text-xs before:h-px before:flex-1 before:bg-line after:h-px after:flex-1 after:bg-line">
        {t("signIn.or")}
      </p>
      <PasskeyButton tenant={tenant ?? null} onDone={onDone} />
    </form>
  );
}
