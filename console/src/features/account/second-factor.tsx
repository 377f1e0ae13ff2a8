import { useState } from "react";
import { call } from "@/api/client";
import { removeTotp } from "@/api/generated/operations";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { Row } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { notify } from "@/ui/toast";
import { totp } from "./queries";
import { SetUpDialog } from "./set-up-factor";

export function SecondFactorRow() {
  const { t } = useText();
  const { day } = useFormat();
  const factor = useLoaded(totp);
  const [open, setOpen] = useState<"set-up" | "remove" | null>(null);
  const close = () => setOpen(null);
  const { enabled, enabled_at } = factor;
  return (
    <Row
      title={t("account.factor")}
      hint={
        enabled ? t("account.factorCodes", { count: factor.recovery_codes_left }) : t("account.factorHint")
      }
    >
      <StateMark mark={enabled ? "runs" : "rests"}>
        {enabled_at ? t("account.factorOn", { day: day(enabled_at) }) : t("account.factorOff")}
      </StateMark>
      <Button small onClick={() => setOpen(enabled ? "remove" : "set-up")}>
        {enabled ? t("account.factorRemove") : t("account.factorSetUp")}
      </Button>
      {open === "set-up" && <SetUpDialog onClose={close} />}
      {open === "remove" && <RemoveDialog onClose={close} />}
    </Row>
  );
}

function RemoveDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const remove = useAct((body: { code: string }, key) => call(removeTotp, { body }, { key }), {
    touches: [totp.queryKey],
    onDone: () => {
      onClose();
      notify({ title: t("account.factorRemoved") });
    },
  });
  const form = useForm({
    initial: { code: "" },
    check: ({ code }) => ({ code: code.trim() ? undefined : t("signIn.codeMissing") }),
    send: ({ code }) => remove.run({ code: code.trim() }),
    error: remove.error,
  });
  const field = form.text("code");
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("account.factorRemoveTitle")}
      description={t("account.factorRemoveHint")}
      onSubmit={form.submit}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="danger" type="submit" busy={remove.busy}>
            {t("account.factorRemove")}
          </Button>
        </>
      }
    >
      <TextField {...field} label={t("signIn.code")} autoComplete="one-time-code" inputMode="numeric" />
      {remove.error && !field.error && <ErrorLine error={remove.error} className="mt-4" />}
    </Dialog>
  );
}
