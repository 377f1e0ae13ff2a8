import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";

/** Asks for one name. */
export function NameDialog({
  title,
  hint,
  initial = "",
  verb,
  busy,
  error,
  onSend,
  onClose,
}: {
  title: string;
  hint?: string;
  initial?: string;
  verb: string;
  busy: boolean;
  error: Error | null;
  onSend: (name: string) => void;
  onClose: () => void;
}) {
  const { t } = useText();
  const form = useForm({
    initial: { name: initial },
    check: ({ name }) => ({ name: name.trim() ? undefined : t("account.nameMissing") }),
    send: ({ name }) => onSend(name.trim()),
    error,
  });
  const field = form.text("name");
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      onSubmit={form.submit}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={busy}>
            {verb}
          </Button>
        </>
      }
    >
      <TextField {...field} label={t("account.name")} hint={hint} maxLength={100} autoComplete="off" />
      {error && !field.error && <ErrorLine error={error} className="mt-4" />}
    </Dialog>
  );
}
