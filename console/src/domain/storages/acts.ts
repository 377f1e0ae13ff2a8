import type { Me, Storage, StorageSpec } from "@/api/generated/types";
import { whyNot } from "@/app/roles";
import type { Text } from "@/i18n";
import { isFixed } from "./size";
import { standingOf } from "./standing";

export type StorageAction = "rename" | "grow" | "delete";

/** Why it cannot be done now, as a sentence; false if it can. `specs` are those for sale, once they are known. */
export function whyNotNow(
  me: Me,
  it: Pick<Storage, "state" | "reason" | "size_gib" | "storage_spec">,
  action: StorageAction,
  t: Text,
  specs?: readonly StorageSpec[],
): string | false {
  const role = whyNot(me, "storages.write", t);
  if (role) return role;
  const isUsable = it.state === "available" || it.state === "resizing";
  const can = { rename: it.state !== "deleting", grow: isUsable, delete: it.state !== "deleting" }[action];
  if (!can) return t("storages.notWhile", { state: t(standingOf(it).word) });
  const spec = specs?.find((one) => one.id === it.storage_spec.id);
  if (action !== "grow" || !spec) return false;
  if (isFixed(spec)) return t("storages.sizeFixed");
  return it.size_gib >= spec.max_size_gib && t("storages.largest", { size: spec.max_size_gib });
}
