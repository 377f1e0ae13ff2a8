import { asCurl } from "@/api/client";
import { listInstances } from "@/api/generated/operations";
import type { ApiKey } from "@/api/generated/types";
import { useText } from "@/i18n";
import { CopyBox } from "@/ui/copy";
import { ShownOnce } from "@/ui/shown-once";

/** The key itself, and a request to try it with. */
export function NewKeyDialog({ made, onClose }: { made: ApiKey | null; onClose: () => void }) {
  const { t } = useText();
  const curl = asCurl(listInstances).replace("$ATELIER_API_KEY", made?.secret ?? "");
  return (
    <ShownOnce
      open={made !== null}
      onClose={onClose}
      title={t("keys.shownTitle", { name: made?.name ?? "" })}
    >
      <CopyBox text={made?.secret ?? ""} label={t("keys.copyKey")} />
      <p className="mt-4 mb-1 font-medium text-sm">{t("keys.shownTry")}</p>
      <CopyBox lines text={curl} label={t("keys.copyTry")} />
    </ShownOnce>
  );
}
