import { useNavigate } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef } from "react";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { Dialog } from "@/ui/dialog";
import { pagesFor } from "./pages";

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));

/** How long `g` waits for its second key. */
const PATIENCE = 1500;

/** Ctrl or ⌘ K, `/`, `?`, and `g` with the letter of a page. */
export function useKeys({ onPalette, onHelp }: { onPalette: () => void; onHelp: () => void }) {
  const navigate = useNavigate();
  const me = useMe();
  const went = useRef(0);
  const press = useEffectEvent((event: KeyboardEvent) => {
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
    went.current = 0;
    event.preventDefault();
  });
  useEffect(() => {
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
}

export function KeysHelp({ open, onClose }: { open: boolean; onClose: () => void }) {
  const { t } = useText();
  const pages = pagesFor(useMe()).filter((page) => page.key);
  const lines: [string[], string][] = [
    [[navigator.platform.startsWith("Mac") ? "⌘ K" : "Ctrl K", "/"], t("nav.keysSearch")],
    [["?"], t("nav.keysHelpKey")],
    [["Esc"], t("nav.keysClose")],
    ...pages.map((page): [string[], string] => [[`g ${page.key}`], t("nav.keysGo", { page: t(page.label) })]),
  ];
  return (
    <Dialog open={open} onClose={onClose} title={t("nav.keysHelp")} description={t("nav.keysHelpIntro")}>
      <dl className="grid grid-cols-[1fr_auto] gap-x-6 gap-y-2 text-sm">
        {lines.map(([keys, what]) => (
          <div key={what} className="col-span-2 grid grid-cols-subgrid">
            <dt>{what}</dt>
            <dd className="flex justify-end gap-2">
              {keys.map((key) => (
                <kbd
                  key={key}
                  className="rounded-sm border border-line bg-paper px-1.5 font-mono text-xs leading-5"
                >
                  {key}
                </kbd>
              ))}
            </dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
