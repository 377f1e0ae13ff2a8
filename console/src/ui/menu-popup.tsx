import { Menu as Base } from "@base-ui/react/menu";
import { clsx } from "clsx";
import { type ReactElement, useCallback, useState } from "react";
import type { FirstFocus, MenuEntry } from "./menu-entry";

/** The menu itself, open from the start: what is pressed to open it was there before. */
export default function MenuPopup({
  trigger,
  entries,
  align,
  focus,
}: {
  trigger: ReactElement;
  entries: readonly (MenuEntry | "line")[];
  align: "start" | "end";
  focus: FirstFocus;
}) {
  const [open, setOpen] = useState(true);
  // the trigger was not there yet that would have seen the key
  const [first, setFirst] = useState(focus);
  const focusEntry = useCallback(
    (popup: HTMLElement | null) => {
      if (!popup || first === "menu") return;
      const entries = popup.querySelectorAll<HTMLElement>('[role="menuitem"]');
      // after the menu itself has got the focus
      requestAnimationFrame(() => entries[first === "first" ? 0 : entries.length - 1]?.focus());
      setFirst("menu");
    },
    [first],
  );
  const whys = entries.map((entry) => entry !== "line" && entry.disabled);
  /** An entry above says the same. */
  const isSaid = (i: number) => Boolean(whys[i]) && whys.indexOf(whys[i] ?? false) < i;
  return (
    <Base.Root open={open} onOpenChange={setOpen}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className="z-30">
          <Base.Popup
            ref={focusEntry}
            className="min-w-[max(12rem,var(--anchor-width))] max-w-[min(22rem,calc(100vw-1rem))] rounded-lg border border-float bg-sheet p-1 shadow-float outline-none"
          >
            {entries.map((entry, i) =>
              entry === "line" ? (
                // biome-ignore lint/suspicious/noArrayIndexKey: a line has nothing else to be known by
                <Base.Separator key={`line-${i}`} className="my-1 h-px bg-line" />
              ) : (
                <Base.Item
                  key={entry.key}
                  disabled={Boolean(entry.disabled)}
                  closeOnClick={!entry.stays}
                  onClick={entry.onSelect}
                  className={clsx(
                    "flex cursor-default items-center gap-2.5 rounded-sm px-2.5 py-1.5 text-sm outline-none data-highlighted:bg-wash max-md:py-2.5",
                    entry.danger && "text-vermilion",
                  )}
                >
                  {entry.icon}
                  <span className="min-w-0">
                    <span className={clsx("block", entry.disabled && "text-ink-3")}>{entry.label}</span>
                    {(entry.disabled || entry.note) && (
                      <span className={isSaid(i) ? "sr-only" : "block text-ink-3 text-xs"}>
                        {entry.disabled || entry.note}
                      </span>
                    )}
                  </span>
                </Base.Item>
              ),
            )}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
