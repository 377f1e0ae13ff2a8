import { liveState } from "@/api/live";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { useStore } from "@/lib/store";
import { Ring } from "@/ui/state";

/** Whether what is shown follows what happens. */
export function LiveMark() {
  const { t } = useText();
  const { tenant_id } = useMe();
  const state = useStore(liveState);
  if (!tenant_id) return null;
  const words = { live: t("nav.live"), connecting: t("nav.connecting"), reconnecting: t("nav.reconnecting") };
  return (
    <p role="status" data-live={state} className="flex items-center gap-2 px-2 text-ink-3 text-xs">
      <Ring mark={state === "live" ? "runs" : "moves"} className="size-2" />
      {words[state]}
    </p>
  );
}
