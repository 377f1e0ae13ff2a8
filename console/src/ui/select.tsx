import { Select as Base } from "@base-ui/react/select";
import { clsx } from "clsx";
import { Check, ChevronDown } from "lucide-react";
import { box, FieldFrame, type FieldText } from "./field";

export interface Choice<T extends string> {
  value: T;
  label: string;
  hint?: string | undefined;
}

interface Props<T extends string> {
  value: T;
  choices: readonly Choice<T>[];
  onChange: (value: T) => void;
}

function Popup<T extends string>({ choices }: { choices: readonly Choice<T>[] }) {
  return (
    <Base.Portal>
      <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-30">
        <Base.Popup className="max-h-80 min-w-(--anchor-width) max-w-80 overflow-y-auto rounded-lg border border-line bg-sheet p-1 shadow-float outline-none">
          {choices.map((choice) => (
            <Base.Item
              key={choice.value}
              value={choice.value}
              className="grid cursor-default grid-cols-[1rem_1fr] items-start gap-x-2 rounded-sm px-2 py-1.5 text-sm outline-none data-highlighted:bg-wash max-md:py-2.5"
            >
              <span className="pt-0.5">
                <Base.ItemIndicator>
                  <Check className="size-4" aria-hidden="true" />
                </Base.ItemIndicator>
              </span>
              <span className="min-w-0">
                <Base.ItemText className="block">{choice.label}</Base.ItemText>
                {choice.hint && <span className="block text-ink-3 text-xs">{choice.hint}</span>}
              </span>
            </Base.Item>
          ))}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  );
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
  return (
    <Base.Root
      value={value}
      items={choices.map((it) => ({ value: it.value, label: it.label }))}
      onValueChange={(next) => next !== null && onChange(next as T)}
    >
      <Base.Trigger
        {...aria}
        className={clsx(
          box,
          "cursor-pointer justify-between text-left outline-none",
          small
            ? "h-7 border-line hover:border-line-strong max-md:h-9"
            : "h-8 border-line-strong max-md:h-10",
        )}
      >
        <Base.Value className="truncate" />
        <ChevronDown className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
      </Base.Trigger>
      <Popup choices={choices} />
    </Base.Root>
  );
}
