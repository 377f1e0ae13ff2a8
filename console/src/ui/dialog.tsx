import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type FormEvent, type ReactNode, useRef, useState } from "react";
import { useText } from "@/i18n";
import { Button } from "./button";
import { ErrorLine } from "./error";
import { TextField } from "./field";

const backdrop = "fixed inset-0 z-20 bg-black/35 dark:bg-black/50";
const sheet = "fixed z-20 flex flex-col border border-float bg-sheet shadow-float outline-none ";
const narrow =
  "max-md:inset-x-0 max-md:top-auto max-md:bottom-0 max-md:w-full max-md:translate-x-0 max-md:max-h-[calc(100dvh-3rem)] max-md:rounded-b-none";
const popup = `${sheet} top-[12dvh] left-1/2 max-h-[calc(88dvh-1.5rem)] w-[calc(100vw-2.5rem)] -translate-x-1/2 rounded-lg ${narrow}`;
/** At the right edge: what it changes stays in view. */
const side = `${sheet} inset-y-0 right-0 w-88 max-md:rounded-lg ${narrow}`;

const FIELD = "input:not([readonly]), textarea, [role=combobox]";

export interface DialogProps {
  open: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  children?: ReactNode;
  /** Buttons, at the right; the last one is the one that does it. */
  footer?: ReactNode;
  wide?: boolean;
  /** At the right edge of the window, as high as it is. */
  atSide?: boolean;
  /** Makes it a form: Enter does what the last button does. */
  onSubmit?: (() => void) | undefined;
}

export function Dialog(props: DialogProps) {
  const { open, onClose, title, description, wide, atSide } = props;
  const { t } = useText();
  const popupRef = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={backdrop} />
        <Base.Popup
          ref={popupRef}
          // the first field, else the dialog: not the button that closes
          initialFocus={() => popupRef.current?.querySelector<HTMLElement>(FIELD) ?? popupRef.current}
          className={atSide ? side : `${popup} ${wide ? "max-w-184" : "max-w-112"} max-md:max-w-none`}
        >
          <header className="flex items-center justify-between gap-3 px-5 pt-3 pb-0.5">
            <Base.Title className="font-medium text-lg">{title}</Base.Title>
            <Base.Close
              aria-label={t("ui.close")}
              className="-mr-1.5 grid size-7 cursor-pointer place-items-center rounded-md text-ink-2 hover:bg-wash hover:text-ink max-md:size-10"
            >
              <X className="size-4" aria-hidden="true" />
            </Base.Close>
          </header>
          {description && (
            <Base.Description className="px-5 text-ink-2 text-sm" render={<div />}>
              {description}
            </Base.Description>
          )}
          <Body {...props} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

function Body({ children, footer, onSubmit }: DialogProps) {
  const inner = (
    <>
      {children && <div className="min-h-0 flex-1 overflow-y-auto px-5 py-4">{children}</div>}
      {footer && (
        <footer className="flex flex-wrap justify-end gap-2 border-line border-t px-5 py-3 max-md:[&>*,&>.contents>*]:flex-1">
          {footer}
        </footer>
      )}
    </>
  );
  if (!onSubmit) return inner;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form noValidate onSubmit={submit} className="flex min-h-0 flex-1 flex-col">
      {inner}
    </form>
  );
}

export interface ConfirmProps {
  open: boolean;
  onClose: () => void;
  onConfirm: () => void;
  title: string;
  /** What is lost and what stays. */
  children: ReactNode;
  verb: string;
  busy?: boolean;
  error?: unknown;
  /** Deletes of data ask to type this. */
  typed?: string;
  /** Not red: nothing is lost. */
  harmless?: boolean;
}

export function ConfirmDialog({
  open,
  onClose,
  onConfirm,
  title,
  children,
  verb,
  busy,
  error,
  typed,
  harmless,
}: ConfirmProps) {
  const { t } = useText();
  const [text, setText] = useState("");
  const isMissing = typed !== undefined && text.trim() !== typed;
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={backdrop} />
        <AlertDialog.Popup className={`${popup} max-w-112 p-5 max-md:max-w-none`}>
          <AlertDialog.Title className="font-medium text-lg">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-1 space-y-2 text-ink-2 text-sm" render={<div />}>
            {children}
          </AlertDialog.Description>
          {typed !== undefined && (
            <TextField
              className="mt-4"
              label={t("ui.typeToConfirm", { name: typed })}
              value={text}
              onChange={(event) => setText(event.target.value)}
              autoComplete="off"
            />
          )}
          {error != null && <ErrorLine error={error} className="mt-4" />}
          <div className="mt-5 flex justify-end gap-2 max-md:[&>*,&>.contents>*]:flex-1">
            <AlertDialog.Close render={<Button />}>{t("ui.cancel")}</AlertDialog.Close>
            <Button
              kind={harmless ? "primary" : "danger"}
              busy={busy}
              disabled={isMissing && t("ui.typeFirst")}
              onClick={onConfirm}
            >
              {verb}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
