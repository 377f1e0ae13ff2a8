import { clsx } from "clsx";
import { ChevronDown } from "lucide-react";
import { type KeyboardEvent, useState } from "react";
import { useText } from "@/i18n";
import { later } from "@/lib/later";
import type { Choice } from "./choice";
import { box, FieldFrame, type FieldText } from "./field";

interface Props<T extends string> {
  /** By which it gets the focus when it is wrong. */
  name?: string;
  value: T;
  choices: readonly Choice<T>[];
  onChange: (value: T) => void;
}

export function SelectField<T extends string>({
  label,
  hint,
  error,
  className,
  ...rest
}: Props<T> & FieldText & { className?: string }) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(ids) => <Control {...rest} {...ids} />}
    </FieldFrame>
  );
}

/** Without a visible label, for rows and filters. */
export function Select<T extends string>({
  label,
  small,
  ...rest
}: Props<T> & { label: string; small?: boolean }) {
  return <Control {...rest} aria-label={label} small={small} />;
}

const popup = later(() => import("./select-popup"));

/** What is pressed is there at once; the choices are loaded when it is first reached for. */
function Control<T extends string>({
  value,
  choices,
  onChange,
  small,
  ...aria
}: Props<T> & {
  small?: boolean | undefined;
  id?: string;
  "aria-label"?: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean;
}) {
  const { t } = useText();
  const chosen = choices.find((it) => it.value === value);
  const [wanted, setWanted] = useState(false);
  const SelectPopup = popup.usePart(wanted);
  const want = () => {
    popup.load();
    setWanted(true);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    want();
  };
  const look = clsx(
    box,
    "cursor-pointer justify-between text-left outline-none",
    small ? "h-7 max-md:h-9" : "h-8 max-md:h-10",
    aria["aria-invalid"]
      ? "border-vermilion"
      : small
        ? "border-line hover:border-line-strong"
        : "border-line-strong",
  );
  const content = (
    <>
      {chosen ? (
        <span className="truncate">{chosen.label}</span>
      ) : (
        <span className="truncate text-ink-3">{t("ui.choose")}</span>
      )}
      <ChevronDown className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
    </>
  );
  const closed = (
    <button
      type="button"
      role="combobox"
      aria-haspopup="listbox"
      aria-expanded={false}
      {...aria}
      onClick={want}
      onKeyDown={press}
      onPointerEnter={popup.load}
      onFocus={popup.load}
      className={look}
    >
      {content}
    </button>
  );
  if (!wanted || !SelectPopup) return closed;
  return (
    <SelectPopup
      trigger={
        <button type="button" {...aria} className={look}>
          {content}
        </button>
      }
      value={value}
      choices={choices}
      onChoose={(next) => {
        const pressed = choices.find((it) => it.value === next);
        if (pressed) onChange(pressed.value);
      }}
    />
  );
}
