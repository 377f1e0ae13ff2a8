import { useEffect, useState } from "react";
import { call } from "@/api/client";
import { createTotp, startTotp } from "@/api/generated/operations";
import type { TotpSecret } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyBox, CopyButton } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { notify } from "@/ui/toast";
import { QrCode } from "./qr-code";
import { totp } from "./queries";

/** Scan, prove, keep the recovery codes. */
export function SetUpDialog({ onClose }: { onClose: () => void }) {
  const [codes, setCodes] = useState<string[] | null>(null);
  return codes ? <Codes codes={codes} onClose={onClose} /> : <Scan onClose={onClose} onDone={setCodes} />;
}

function Scan({ onClose, onDone }: { onClose: () => void; onDone: (codes: string[]) => void }) {
  const { t } = useText();
  const [secret, setSecret] = useState<TotpSecret | null>(null);
  const create = useAct((_: void, key) => call(createTotp, {}, { key }), { onDone: setSecret });
  const start = useAct((body: { code: string }, key) => call(startTotp, { body }, { key }), {
    touches: [totp.queryKey],
    onDone: ({ recovery_codes }) => onDone(recovery_codes ?? []),
  });
  const { run } = create;
  const isNew = secret === null && !create.busy && !create.error;
  useEffect(() => {
    if (isNew) run();
  }, [isNew, run]);
  const form = useForm({
    initial: { code: "" },
    check: ({ code }) => ({ code: code.trim() ? undefined : t("signIn.codeMissing") }),
    send: ({ code }) => start.run({ code: code.replaceAll(" ", "") }),
    error: start.error,
  });
  const field = form.text("code");
  const error = create.error ?? (field.error ? null : start.error);
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("account.factor")}
      description={t("account.factorScan")}
      onSubmit={form.submit}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={start.busy}>
            {t("account.factorStart")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {/* the place is kept while the secret is on its way */}
        <div className="mx-auto size-52">
          {secret?.url && <QrCode text={secret.url} label={t("account.factorQr")} />}
        </div>
        <div>
          <p className="mb-1 text-ink-3 text-xs">{t("account.factorSecret")}</p>
          <CopyBox text={secret?.secret ?? ""} label={t("ui.copy")} />
        </div>
        <TextField {...field} label={t("signIn.code")} autoComplete="one-time-code" inputMode="numeric" />
        {error && <ErrorLine error={error} />}
      </div>
    </Dialog>
  );
}

function Codes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  const { t } = useText();
  const kept = () => {
    onClose();
    notify({ title: t("account.factorStarted") });
  };
  return (
    <Dialog
      open
      onClose={kept}
      title={t("account.factorKeep")}
      description={t("account.factorKeepHint")}
      footer={
        <>
          <CopyButton text={codes.join("\n")} label={t("ui.copy")} />
          <Button kind="primary" onClick={kept}>
            {t("account.factorKept")}
          </Button>
        </>
      }
    >
      <ul className="grid grid-cols-2 gap-x-6 gap-y-1 rounded-md border border-line bg-paper px-4 py-3 font-mono text-sm">
        {codes.map((code) => (
          <li key={code}>{code}</li>
        ))}
      </ul>
    </Dialog>
  );
}
