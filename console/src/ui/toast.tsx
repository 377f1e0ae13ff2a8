import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useText } from "@/i18n";

const manager = Toast.createToastManager();

export interface Notice {
  title: string;
  detail?: ReactNode;
  /** Stays until it is closed, and is announced at once. */
  failed?: boolean;
}

/** Says what came of an action whose place on the page is gone, or who has none. */
export function notify({ title, detail, failed }: Notice) {
  manager.add({
    title,
    description: detail,
    type: failed ? "failed" : "done",
    priority: failed ? "high" : "low",
    timeout: failed ? 0 : 5000,
  });
}

export function Toasts() {
  return (
    <Toast.Provider toastManager={manager}>
      <List />
    </Toast.Provider>
  );
}

function List() {
  const { t } = useText();
  const { toasts } = Toast.useToastManager();
  return (
    <Toast.Portal>
      <Toast.Viewport
        aria-label={t("ui.notices")}
        className="fixed right-4 bottom-4 z-40 flex w-88 max-w-[calc(100vw-2rem)] flex-col gap-2"
      >
        {toasts.map((toast) => (
          <Toast.Root
            key={toast.id}
            toast={toast}
            className="grid grid-cols-[1fr_auto] gap-2 rounded-lg border border-line bg-sheet py-3 pr-2 pl-4 shadow-float data-[type=failed]:border-vermilion"
          >
            <div className="min-w-0">
              <Toast.Title className="font-medium text-sm" />
              <Toast.Description className="text-ink-2 text-sm" render={<div />} />
            </div>
            <Toast.Close
              aria-label={t("ui.close")}
              className="grid size-6 cursor-pointer place-items-center rounded-sm text-ink-3 hover:text-ink"
            >
              <X className="size-4" aria-hidden="true" />
            </Toast.Close>
          </Toast.Root>
        ))}
      </Toast.Viewport>
    </Toast.Portal>
  );
}
