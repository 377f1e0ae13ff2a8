import { clsx } from "clsx";
import { Minus, Plus } from "lucide-react";
import { useText } from "@/i18n";
import { box, FieldFrame, type FieldText } from "./field";

const step =
  "grid w-8 shrink-0 cursor-pointer place-items-center self-stretch text-ink-2 hover:bg-wash hover:text-ink max-md:w-10";

/** A whole number that one types, or counts up and down. */
export function NumberField({
  name,
  value,
  least = 0,
  onChange,
  small,
  ...frame
}: FieldText & {
  name: string;
  /** As typed: it may be no number yet. */
  value: string;
  least?: number;
  onChange: (value: string) => void;
  small?: boolean;
  className?: string;
}) {
  const { t } = useText();
  const number = /^\d+$/.test(value) ? Number(value) : null;
  const count = (by: number) => onChange(String(Math.max(least, (number ?? least) + by)));
  return (
    <FieldFrame {...frame}>
      {(ids) => (
        <span
          className={clsx(
            box,
            "num justify-between gap-0! overflow-hidden px-0!",
            small ? "h-7 max-md:h-9" : "h-8 max-md:h-10",
            frame.error ? "border-vermilion" : "border-line-strong",
          )}
        >
          <button type="button" className={step} aria-label={t("ui.oneLess")} onClick={() => count(-1)}>
            <Minus className="size-3.5" aria-hidden="true" />
          </button>
          <input
            {...ids}
            name={name}
            inputMode="numeric"
            autoComplete="off"
            value={value}
            onChange={(event) => onChange(event.target.value.trim())}
            className="w-full min-w-0 self-stretch border-line border-x bg-transparent text-center font-medium outline-none"
          />
          <button type="button" className={step} aria-label={t("ui.oneMore")} onClick={() => count(1)}>
            <Plus className="size-3.5" aria-hidden="true" />
          </button>
        </span>
      )}
    </FieldFrame>
  );
}
