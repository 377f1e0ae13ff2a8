import type { Storage } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { type StorageAction, whyNotNow } from "./acts";

const Rename = drawnLater(() => import("./rename-dialog"));
const Grow = drawnLater(() => import("./grow-dialog"));
const Delete = drawnLater(() => import("./delete-dialog"));

/** The dialog of an action, unless it cannot be done. */
export function StorageDialogs({
  action,
  it,
  onClose,
}: {
  action: StorageAction | undefined;
  it: Storage;
  onClose: () => void;
}) {
  const { t } = useText();
  const me = useMe();
  if (!action || whyNotNow(me, it, action, t)) return null;
  const props = { it, onClose };
  return (
    <>
      {action === "rename" && <Rename {...props} />}
      {action === "grow" && <Grow {...props} />}
      {action === "delete" && <Delete {...props} />}
    </>
  );
}
