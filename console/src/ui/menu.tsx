import { Menu as Base } from "@base-ui/react/menu";
import { clsx } from "clsx";
import { Ellipsis } from "lucide-react";
import type { ReactElement, ReactNode } from "react";

export interface MenuEntry {
  key: string;
  label: string;
  /** A second line: the reason when it cannot be chosen. */
  disabled?: string | false | undefined;
  /** A quiet word under the label. */
  note?: string;
  /** The menu stays open: it turns through settings. */
  stays?: boolean;
  danger?: boolean;
  icon?: ReactNode;
  onSelect: () => void;
}

/** Three dots with actions. Entries that cannot be chosen say why. */
export function ActionMenu({ label, entries }: { label: string; entries: readonly (MenuEntry | "line")[] }) {
  return (
    <Menu
      trigger={
        <button
          type="button"
          aria-label={label}
          className="grid size-7 shrink-0 cursor-pointer place-items-center rounded-md text-ink-2 hover:bg-wash hover:text-ink data-popup-open:bg-wash max-md:-mr-2.5 max-md:size-10"
        >
          <Ellipsis className="size-4" aria-hidden="true" />
        </button>
      }
      entries={entries}
    />
  );
}

export function Menu({
  trigger,
  entries,
  align = "end",
}: {
  trigger: ReactElement;
  entries: readonly (MenuEntry | "line")[];
  align?: "start" | "end";
}) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner align={align} sideOffset={4} className="z-30">
          <Base.Popup className="min-w-[max(12rem,var(--anchor-width))] max-w-[calc(100vw-1rem)] rounded-lg border border-line bg-sheet p-1 shadow-float outline-none">
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
                      <span className="block text-ink-3 text-xs">{entry.disabled || entry.note}</span>
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
