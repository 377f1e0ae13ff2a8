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
import { Panel, Row, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { notify } from "@/ui/toast";
import { totp } from "./queries";
import { SetUpDialog } from "./set-up-factor";

export function SecondFactor() {
  const { t } = useText();
  const { day } = useFormat();
  const factor = useLoaded(totp);
  const [open, setOpen] = useState<"set-up" | "remove" | null>(null);
  const close = () => setOpen(null);
  return (
    <Section title={t("account.factor")} hint={t("account.factorHint")}>
      <Panel>
        {factor.enabled ? (
          <Row
            title={
              <StateMark mark="runs">
                {t("account.factorOn", { day: factor.enabled_at ? day(factor.enabled_at) : "" })}
              </StateMark>
            }
            hint={t("account.factorCodes", { count: factor.recovery_codes_left })}
          >
            <Button onClick={() => setOpen("remove")}>{t("account.factorRemove")}</Button>
          </Row>
        ) : (
          <Row
            title={<StateMark mark="rests">{t("account.factorOff")}</StateMark>}
            hint={t("account.factorOffHint")}
          >
            <Button onClick={() => setOpen("set-up")}>{t("account.factorSetUp")}</Button>
          </Row>
        )}
      </Panel>
      {open === "set-up" && <SetUpDialog onClose={close} />}
      {open === "remove" && <RemoveDialog onClose={close} />}
    </Section>
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
