import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef } from "react";
import { useMe } from "@/api/session";
import { pagesFor } from "./pages";

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

/** How long `g` waits for its second key. */
const PATIENCE = 1500;

/** Ctrl or ⌘ K, `/`, `?`, and `g` with the letter of a page. */
export function useKeys({
  onPalette,
  onHelp,
  onReach,
}: {
  onPalette: () => void;
  onHelp: () => void;
  /** Ctrl or ⌘ is down: the palette may be next. */
  onReach: () => void;
}) {
  const navigate = useNavigate();
  const me = useMe();
  const went = useRef(Number.NEGATIVE_INFINITY);
  const press = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === "Control" || event.key === "Meta") onReach();
    if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      onPalette();
      return;
    }
    if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
    if (document.querySelector('[role="dialog"], [role="alertdialog"], [role="menu"]')) return;
    const page = pagesFor(me).find((it) => it.key === event.key);
    if (page && event.timeStamp - went.current < PATIENCE) void navigate({ to: page.to });
    else if (event.key === "?") onHelp();
    else if (event.key === "/") onPalette();
    else {
      if (event.key === "g") went.current = event.timeStamp;
      return;
    }
    went.current = Number.NEGATIVE_INFINITY;
    event.preventDefault();
  });
  useEffect(() => {
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}
