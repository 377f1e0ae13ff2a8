import { clsx } from "clsx";
import type { ComponentProps } from "react";
import { box, FieldFrame, type FieldText } from "./field";

/** Text of several lines; it grows with what is written. */
export function TextArea({
  label,
  hint,
  error,
  className,
  mono,
  ...input
}: Omit<ComponentProps<"textarea">, "id"> & FieldText & { mono?: boolean }) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(ids) => (
        <span className={clsx(box, error ? "border-vermilion" : "border-line-strong")}>
          <textarea
            {...input}
            {...ids}
            className={clsx(
              "field-sizing-content max-h-80 min-h-16 w-full min-w-0 resize-y bg-transparent py-1.5 outline-none placeholder:text-ink-3",
              mono && "font-mono text-xs leading-5",
            )}
          />
        </span>
      )}
    </FieldFrame>
  );
}
