import { clsx } from "clsx";
import { Eye, EyeOff } from "lucide-react";
import { type ComponentProps, type ReactNode, useId, useState } from "react";
import { useText } from "@/i18n";

export interface FieldText {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

/** Label above, hint or error below; gives the ids with which the control points at them. */
export function FieldFrame({
  label,
  hint,
  error,
  className,
  children,
}: FieldText & {
  className?: string | undefined;
  children: (ids: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean;
  }) => ReactNode;
}) {
  const id = useId();
  const note = `${id}-note`;
  const hasNote = Boolean(error ?? hint);
  return (
    <div className={clsx("min-w-0", className)}>
      <label htmlFor={id} className="mb-1 block font-medium text-sm">
        {label}
      </label>
      {children({ id, "aria-describedby": hasNote ? note : undefined, "aria-invalid": Boolean(error) })}
      {hasNote && (
        <p id={note} className={clsx("mt-1 text-xs", error ? "text-vermilion" : "text-ink-3")}>
          {error ?? hint}
        </p>
      )}
    </div>
  );
}

export const box =
  "flex w-full min-w-0 items-center gap-2 rounded-md border bg-sheet px-2.5 text-sm focus-within:outline-2 focus-within:-outline-offset-1 focus-within:outline-ultra";

export type TextFieldProps = Omit<ComponentProps<"input">, "id"> &
  FieldText & { before?: ReactNode; after?: ReactNode };

export function TextField({ label, hint, error, before, after, className, ...input }: TextFieldProps) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(ids) => (
        <span
          className={clsx(
            box,
            "h-8 whitespace-nowrap max-md:h-10",
            error ? "border-vermilion" : "border-line-strong",
          )}
        >
          {before}
          <input
            {...input}
            {...ids}
            className="w-full min-w-0 bg-transparent outline-none placeholder:text-ink-3"
          />
          {after && <span className="shrink-0 whitespace-nowrap">{after}</span>}
        </span>
      )}
    </FieldFrame>
  );
}

export function TextAreaField({
  label,
  hint,
  error,
  className,
  ...input
}: Omit<ComponentProps<"textarea">, "id"> & FieldText) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(ids) => (
        <span className={clsx(box, error ? "border-vermilion" : "border-line-strong")}>
          <textarea
            rows={3}
            {...input}
            {...ids}
            className="w-full min-w-0 resize-y bg-transparent py-1.5 outline-none placeholder:text-ink-3"
          />
        </span>
      )}
    </FieldFrame>
  );
}

export function PasswordField(props: Omit<TextFieldProps, "type" | "after">) {
  const { t } = useText();
  const [shown, setShown] = useState(false);
  const Icon = shown ? EyeOff : Eye;
  return (
    <TextField
      {...props}
      type={shown ? "text" : "password"}
      spellCheck={false}
      autoCapitalize="none"
      after={
        <button
          type="button"
          aria-pressed={shown}
          aria-label={t("ui.showPassword")}
          onClick={() => setShown(!shown)}
          className="-mr-1 grid size-6 shrink-0 cursor-pointer place-items-center rounded-sm text-ink-3 hover:text-ink"
        >
          <Icon className="size-4" aria-hidden="true" />
        </button>
      }
    />
  );
}

export function Checkbox({
  label,
  hint,
  ...input
}: Omit<ComponentProps<"input">, "type"> & { label: ReactNode; hint?: ReactNode }) {
  return (
    <label className="flex cursor-pointer items-start gap-2.5 text-sm has-disabled:cursor-not-allowed">
      <input type="checkbox" {...input} className="mt-0.5 size-4 shrink-0" />
      <span className="min-w-0">
        <span className="block">{label}</span>
        {hint && <span className="block text-ink-3 text-xs">{hint}</span>}
      </span>
    </label>
  );
}
