import type { ReactNode } from "react";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "./button";
import { CopyCurl } from "./copy";
import { Dialog } from "./dialog";
import { ErrorLine } from "./error";
import { TextField } from "./field";

interface Props {
  title: string;
  /** What the name is for, or what keeps the old one. */
  description?: ReactNode;
  label: string;
  hint?: string;
  initial?: string;
  longest: number;
  /** Said of a name that is empty or too long. */
  wrong: string;
  /** The field of the API: its refusal stands at the name. */
  field?: string;
  verb?: string;
  busy: boolean;
  error: Error | null;
  onSend: (name: string) => void;
  /** The same as a command. */
  curlOf?: (name: string) => string;
  onClose: () => void;
}

/** Asks for one name: a new one, or of what is made. */
export function NameDialog({
  title,
  description,
  label,
  hint,
  initial = "",
  longest,
  wrong,
  field = "name",
  verb,
  busy,
  error,
  onSend,
  curlOf,
  onClose,
}: Props) {
  const { t } = useText();
  const nameIn = (values: Record<string, string>) => values[field]?.trim() ?? "";
  const form = useForm<Record<string, string>>({
    initial: { [field]: initial },
    check: (values) => {
      const { length } = nameIn(values);
      return { [field]: length < 1 || length > longest ? wrong : undefined };
    },
    send: (values) => onSend(nameIn(values)),
    error,
  });
  const text = form.text(field);
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={title}
      description={description}
      footer={
        <>
          {curlOf && <CopyCurl command={curlOf(nameIn(form.values))} />}
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={busy}>
            {verb ?? t("ui.save")}
          </Button>
        </>
      }
    >
      <TextField {...text} label={label} hint={hint} autoComplete="off" />
      {error && !text.error && <ErrorLine error={error} className="mt-4" />}
    </Dialog>
  );
}
