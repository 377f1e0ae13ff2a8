import type { ReactNode } from "react";
import type { Act } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";

const LONGEST = 500;

/** What an administrator does to a thing of a tenant needs a reason, which is recorded. */
export function ReasonDialog({
  title,
  verb,
  hint,
  act,
  curl,
  onClose,
  children,
}: {
  title: string;
  verb: string;
  /** Who reads the reason. */
  hint: string;
  act: Act<string>;
  curl: (reason: string) => string;
  onClose: () => void;
  /** What is lost and what stays. */
  children: ReactNode;
}) {
  const { t } = useText();
  const form = useForm({
    initial: { reason: "" },
    check: ({ reason }) => ({
      reason: !reason.trim()
        ? t("platform.reasonMissing")
        : reason.trim().length > LONGEST
          ? t("platform.reasonLong", { count: LONGEST })
          : undefined,
    }),
    send: ({ reason }) => act.run(reason.trim()),
    error: act.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={curl(form.values.reason.trim())} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="danger" type="submit" busy={act.busy}>
            {verb}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <div className="space-y-2 text-ink-2 text-sm">{children}</div>
        <TextField {...form.text("reason")} label={t("platform.reason")} hint={hint} autoComplete="off" />
        {act.error && !form.errors.reason && <ErrorLine error={act.error} />}
      </div>
    </Dialog>
  );
}
