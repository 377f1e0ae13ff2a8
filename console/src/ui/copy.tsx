import { Check, Copy as CopyIcon } from "lucide-react";
import { useEffect, useState } from "react";
import { useText } from "@/i18n";
import { Button, IconButton, type Look } from "./button";

function useCopy(text: string): [boolean, () => void] {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [copied]);
  return [copied, () => void navigator.clipboard.writeText(text).then(() => setCopied(true))];
}

function Said({ copied }: { copied: boolean }) {
  const { t } = useText();
  return (
    <span role="status" className="sr-only">
      {copied ? t("ui.copied") : ""}
    </span>
  );
}

export function CopyIconButton({ text, label }: { text: string; label: string }) {
  const [copied, copy] = useCopy(text);
  const Icon = copied ? Check : CopyIcon;
  return (
    <>
      <IconButton label={label} onClick={copy}>
        <Icon className="size-4" aria-hidden="true" />
      </IconButton>
      <Said copied={copied} />
    </>
  );
}

export function CopyButton({
  text,
  label,
  ...look
}: { text: string; label: string } & Pick<Look, "kind" | "small">) {
  const { t } = useText();
  const [copied, copy] = useCopy(text);
  const Icon = copied ? Check : CopyIcon;
  return (
    <>
      <Button {...look} onClick={copy}>
        <Icon className="size-4" aria-hidden="true" />
        {copied ? t("ui.copied") : label}
      </Button>
      <Said copied={copied} />
    </>
  );
}

/** At the left of a dialog's footer: what its last button does, as a command. */
export function CopyCurl({ command }: { command: string }) {
  const { t } = useText();
  return (
    <span className="mr-auto flex-none! max-md:order-last max-md:mr-0 max-md:flex-[0_0_100%]! max-md:text-center">
      <CopyButton text={command} label={t("ui.copyAsCurl")} kind="quiet" />
    </span>
  );
}

/** Text for a machine, in a box with a button that copies it. */
export function CopyBox({ text, label, lines }: { text: string; label: string; lines?: boolean }) {
  return (
    <div className="flex items-start gap-1 rounded-md border border-line bg-paper py-1 pr-1 pl-3">
      <code
        className={
          lines
            ? "min-w-0 flex-1 overflow-x-auto whitespace-pre py-1 font-mono text-xs max-md:wrap-anywhere max-md:whitespace-pre-wrap"
            : "wrap-anywhere min-w-0 flex-1 py-1 font-mono text-sm"
        }
        tabIndex={lines ? 0 : undefined}
      >
        {text}
      </code>
      <CopyIconButton text={text} label={label} />
    </div>
  );
}
