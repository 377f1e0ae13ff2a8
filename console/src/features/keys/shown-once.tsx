import { asCurl } from "@/api/client";
import { listInstances } from "@/api/generated/operations";
import type { ApiKey } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";

/** The key itself: the API says it in the answer to its creation only. */
export function ShownOnceDialog({ made, onClose }: { made: ApiKey | null; onClose: () => void }) {
  const { t } = useText();
  const curl = asCurl(listInstances).replace("$ATELIER_API_KEY", made?.secret ?? "");
  return (
    <Dialog
      wide
      open={made !== null}
      onClose={onClose}
      title={t("keys.shownTitle", { name: made?.name ?? "" })}
      description={t("keys.shownOnce")}
      footer={
        <Button kind="primary" onClick={onClose}>
          {t("ui.done")}
        </Button>
      }
    >
      <CopyBox text={made?.secret ?? ""} label={t("keys.copyKey")} />
      <p className="mt-4 mb-1 font-medium text-sm">{t("keys.shownTry")}</p>
      <CopyBox lines text={curl} label={t("keys.copyTry")} />
    </Dialog>
  );
}
