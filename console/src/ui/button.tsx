import { createLink } from "@tanstack/react-router";
import { clsx } from "clsx";
import type { ComponentProps, MouseEvent } from "react";
import { Hint } from "./hint";

/** Its word is still read, as the reason is asked for. */
const unfilled =
  "aria-disabled:not-aria-busy:border-line aria-disabled:not-aria-busy:bg-wash aria-disabled:not-aria-busy:text-ink-3";

const kinds = {
  primary: `bg-ultra text-on-ultra hover:bg-ultra-hover border-transparent ${unfilled}`,
  plain:
    "border-line bg-sheet text-ink hover:border-line-strong aria-disabled:border-line aria-disabled:not-aria-busy:text-ink-3",
  quiet: "border-transparent text-ink-2 hover:bg-wash hover:text-ink aria-disabled:opacity-55",
  danger: `border-transparent bg-vermilion text-sheet hover:opacity-90 ${unfilled}`,
};

export interface Look {
  kind?: keyof typeof kinds | undefined;
  /** 28 instead of 32 high, for rows. */
  small?: boolean | undefined;
  /** As wide as high. */
  icon?: boolean | undefined;
}

const size = ({ small, icon }: Look) => {
  if (icon) return "size-7 max-md:size-10";
  return small ? "h-7 px-2.5 max-md:h-9" : "h-8 px-3 max-md:h-10";
};

const look = ({ kind = "plain", ...sized }: Look) =>
  clsx(
    "inline-flex shrink-0 cursor-pointer items-center justify-center gap-1.5 whitespace-nowrap rounded-md border font-medium text-sm",
    "aria-disabled:cursor-not-allowed aria-busy:opacity-55",
    size(sized),
    kinds[kind],
  );

export type ButtonProps = Omit<ComponentProps<"button">, "disabled"> &
  Look & {
    /** Why it cannot be pressed, for a person; it stays focusable, so that the reason can be read. */
    disabled?: string | false | null | undefined;
    /** What it did is not answered yet; further presses do nothing. */
    busy?: boolean | undefined;
  };

export function Button({ kind, small, icon, disabled, busy, className, onClick, ...rest }: ButtonProps) {
  const press = (event: MouseEvent<HTMLButtonElement>) => {
    if (disabled || busy) {
      event.preventDefault();
      return;
    }
    onClick?.(event);
  };
  const draw = (described?: { "aria-describedby": string }) => (
    <button
      type="button"
      {...rest}
      {...described}
      aria-disabled={disabled || busy ? true : undefined}
      aria-busy={busy || undefined}
      onClick={press}
      className={clsx(
        look({ kind, small, icon }),
        busy && "animate-[breathe_1.2s_ease-in-out_infinite]",
        className,
      )}
    />
  );
  return disabled ? <Hint text={disabled}>{draw}</Hint> : draw();
}

function Anchor({ kind, small, className, ...rest }: ComponentProps<"a"> & Look) {
  return <a {...rest} className={clsx(look({ kind, small }), className)} />;
}

/** A link that looks like a button: it goes somewhere, with a press of the middle button too. */
export const ButtonLink = createLink(Anchor);
/** The same for an address outside the console. */
export { Anchor as ButtonAnchor };

export function IconButton({ label, ...rest }: Omit<ButtonProps, keyof Look> & { label: string }) {
  return <Button kind="quiet" icon {...rest} aria-label={label} />;
}
