import { Ellipsis } from "lucide-react";
import { cloneElement, type KeyboardEvent, type MouseEvent, type ReactElement, useState } from "react";
import { later } from "@/lib/later";
import type { FirstFocus, MenuEntry } from "./menu-entry";

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

const popup = later(() => import("./menu-popup"));

/** What is pressed is there at once; the menu is loaded when it is first reached for. */
export function Menu({
  trigger,
  entries,
  align = "end",
}: {
  trigger: ReactElement<Record<string, unknown>>;
  entries: readonly (MenuEntry | "line")[];
  align?: "start" | "end";
}) {
  const [focus, setFocus] = useState<FirstFocus | null>(null);
  const MenuPopup = popup.usePart(focus !== null);
  const open = (first: FirstFocus) => {
    popup.load();
    setFocus(first);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    open(event.key === "ArrowDown" ? "first" : "last");
  };
  const closed = cloneElement(trigger, {
    "aria-haspopup": "menu",
    "aria-expanded": false,
    // keys and screen readers press without a pointer
    onClick: ({ detail }: MouseEvent) => open(detail === 0 ? "first" : "menu"),
    onKeyDown: press,
    onPointerEnter: popup.load,
    onFocus: popup.load,
  });
  if (!focus || !MenuPopup) return closed;
  return <MenuPopup trigger={trigger} entries={entries} align={align} focus={focus} />;
}
