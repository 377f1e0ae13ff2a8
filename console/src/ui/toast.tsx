import { clsx } from "clsx";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { useText } from "@/i18n";
import { createStore, useStore } from "@/lib/store";

export interface Notice {
  title: string;
  detail?: ReactNode;
  /** Stays until it is closed, and is announced at once. */
  failed?: boolean;
}

const notices = createStore<readonly (Notice & { id: number })[]>([]);
let last = 0;

/** Says what came of an action whose place on the page is gone, or who has none. */
export function notify(notice: Notice) {
  // the oldest give way: more than three are not read
  notices.set([...notices.get().slice(-2), { ...notice, id: ++last }]);
}

const close = (id: number) => notices.set(notices.get().filter((it) => it.id !== id));

export function Toasts() {
  const { t } = useText();
  const shown = useStore(notices);
  return (
    <section
      aria-label={t("ui.notices")}
      className="pointer-events-none fixed right-4 bottom-4 z-50 w-88 max-w-[calc(100vw-2rem)] space-y-2"
    >
      {/* the regions are there before what they announce */}
      <div aria-live="polite" className="space-y-2">
        {shown.map((notice) => !notice.failed && <Toast key={notice.id} {...notice} />)}
      </div>
      <div aria-live="assertive" className="space-y-2">
        {shown.map((notice) => notice.failed && <Toast key={notice.id} {...notice} />)}
      </div>
    </section>
  );
}

const STAYS = 5000;

function Toast({ id, title, detail, failed }: Notice & { id: number }) {
  const { t } = useText();
  const [isHeld, setHeld] = useState(false);
  useEffect(() => {
    if (failed || isHeld) return;
    const timer = setTimeout(() => close(id), STAYS);
    return () => clearTimeout(timer);
  }, [id, failed, isHeld]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it stays while somebody reads it
    <div
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className={clsx(
        "pointer-events-auto grid grid-cols-[1fr_auto] gap-2 rounded-lg border bg-sheet py-2.5 pr-2 pl-4 shadow-float",
        failed ? "border-vermilion" : "border-float",
      )}
    >
      <div className="min-w-0 py-0.5 text-sm">
        <p className="font-medium">{title}</p>
        {detail && <div className="text-ink-2">{detail}</div>}
      </div>
      <button
        type="button"
        aria-label={t("ui.close")}
        onClick={() => close(id)}
        className="grid size-7 cursor-pointer place-items-center rounded-sm text-ink-3 hover:text-ink"
      >
        <X className="size-4" aria-hidden="true" />
      </button>
    </div>
  );
}
