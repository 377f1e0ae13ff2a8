import type { ReactNode } from "react";
import { useText } from "@/i18n";
import type { Form } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";

/** The dialog of limits and budgets: each change needs a reason. */
export function LimitForm<Values extends { reason: string }>({
  title,
  form,
  busy,
  error,
  curl,
  onClose,
  children,
}: {
  title: string;
  form: Form<Values>;
  busy: boolean;
  error: Error | null;
  curl: string;
  onClose: () => void;
  children: ReactNode;
}) {
  const { t } = useText();
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={curl} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {children}
        <TextField
          name="reason"
          value={form.values.reason}
          error={form.errors.reason}
          onChange={(event) => form.set("reason", event.target.value as Values["reason"])}
          label={t("platform.reason")}
          hint={t("platform.reasonRecorded")}
          autoComplete="off"
        />
        {error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={error} />}
      </div>
    </Dialog>
  );
}

/** A hint in ochre in place of the ordinary one, when something is to be known before the press. */
export function BelowHint({ is, children }: { is: boolean; children: ReactNode }) {
  return is ? (
    <span role="status" className="font-medium text-ochre">
      {children}
    </span>
  ) : (
    children
  );
}
