import { useRouterState } from "@tanstack/react-router";
import { useText } from "@/i18n";

/** A hairline while the next page loads; the one before stays until then. */
export function Progress() {
  const { t } = useText();
  const isLoading = useRouterState({ select: (state) => state.isLoading });
  return (
    <div aria-live="polite" className="pointer-events-none fixed inset-x-0 top-0 z-50">
      {isLoading && (
        <div className="h-0.5 animate-[arrive_8s_cubic-bezier(0,0.7,0.2,1)_0.15s_both] bg-ultra">
          <span className="sr-only">{t("ui.loading")}</span>
        </div>
      )}
    </div>
  );
}

/** Says the title of the page that was gone to, for those who do not see that it changed. */
export function Announcer() {
  const at = useRouterState({
    select: (state) => (state.isLoading ? null : state.resolvedLocation?.pathname),
  });
  return (
    <p role="status" className="sr-only">
      {at ? document.title : ""}
    </p>
  );
}
