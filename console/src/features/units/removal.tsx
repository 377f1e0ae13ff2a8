import { stock } from "@/api/catalogue";
import { call } from "@/api/client";
import { removeStockUnit } from "@/api/generated/operations";
import type { StockUnit } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { stockOperations, stockUnit } from "@/api/stock";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { ConfirmDialog } from "@/ui/dialog";
import { notify } from "@/ui/toast";

/** Why a unit cannot be removed now, if it cannot. */
export function useWhyNotRemoved() {
  const { t } = useText();
  return ({ state, reason }: StockUnit) => {
    if (state === "used") return t("stock.usedStays");
    if (state === "removing") return t("stock.goesAlready");
    return reason === "occupied" && t("stock.occupiedStays");
  };
}

/** Asks whether this unit is to go, and says why it cannot. */
export function RemovalDialog({ unit, onClose }: { unit: StockUnit; onClose: () => void }) {
  const { t } = useText();
  const remove = useAct((_: void, key) => call(removeStockUnit, { path: { id: unit.id } }, { key }), {
    touches: [["stock-units"], stockUnit(unit.id).queryKey, stock.queryKey, stockOperations.queryKey],
    onDone: () => {
      onClose();
      notify({ title: t("stock.unitGoes", { unit: shortId(unit.id) }) });
    },
  });
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("stock.removeUnitTitle", { unit: shortId(unit.id) })}
      verb={t("stock.removeUnitVerb")}
    >
      <p>
        {t("stock.removeUnitWhat", {
          spec: unit.gpu_spec.name,
          datacenter: unit.datacenter.name,
          node: unit.node ?? t("stock.noNode"),
        })}
      </p>
      <p>{t("stock.removeUnitAgain")}</p>
    </ConfirmDialog>
  );
}
