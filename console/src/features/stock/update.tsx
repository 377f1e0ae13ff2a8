import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { stock } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { addStock, removeStock, updateGpuSpec } from "@/api/generated/operations";
import type { StockRow } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct, useLoaded } from "@/api/query";
import { gpuSpec, stockOperations } from "@/api/stock";
import { ChangedMeanwhile, differencesOf, useBase } from "@/domain/catalogue/changed";
import { useSpecText } from "@/domain/catalogue/spec-text";
import { onTheirWay, type StockOperation } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { focusField } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { NumberField } from "@/ui/number-field";
import { notify } from "@/ui/toast";
import { After } from "./after";
import { isCount, isPrice, MOST, planOf, riseOf } from "./change";
import { Difference } from "./difference";

/** The wanted number of available units and the price; what it takes is written out before the press. */
export default function UpdateDialog({
  row,
  rows,
  operations,
  onClose,
}: {
  row: StockRow;
  rows: readonly StockRow[];
  operations: readonly StockOperation[];
  onClose: () => void;
}) {
  const { t } = useText();
  const { money } = useFormat();
  const client = useQueryClient();
  const specText = useSpecText();
  const specKey = gpuSpec(row.gpu_spec.id);
  const spec = useLoaded(specKey);
  const { base, isChanged, rebase } = useBase(spec);
  const [wanted, setWanted] = useState(String(row.available));
  const [price, setPrice] = useState(spec.price_per_hour);
  const place = { gpu_spec: spec.name, datacenter: row.datacenter.name };
  const reprice = useAct(
    (price_per_hour: string, key) =>
      call(updateGpuSpec, { path: { id: spec.id }, body: { price_per_hour } }, { key }),
    {
      touches: [["gpu-specs"], stock.queryKey],
      onDone: (answer) => {
        rebase(answer);
        if (plan.units !== 0) change.run(plan.units);
        else finish();
      },
      onFailed: (error) => {
        if (error instanceof ApiError && error.is("changed-meanwhile"))
          void client.invalidateQueries({ queryKey: ["gpu-specs"] });
      },
    },
  );
  const change = useAct(
    (units: number, key) =>
      call(units > 0 ? addStock : removeStock, { body: { ...place, count: Math.abs(units) } }, { key }),
    {
      touches: [stock.queryKey, stockOperations.queryKey],
      onDone: finish,
      // others were faster: the numbers are old
      onFailed: () => void client.invalidateQueries({ queryKey: stock.queryKey }),
    },
  );
  function finish() {
    notify({ title: t("stock.updated", { spec: place.gpu_spec, datacenter: place.datacenter }) });
    onClose();
  }
  const plan = planOf(row, isCount(wanted) ? Number(wanted) : row.available);
  const cannotAdd =
    plan.units > 0 &&
    (spec.state === "retired"
      ? t("stock.retiredTakesNone")
      : row.datacenter_state === "draining" && t("stock.drainingTakesNone"));
  const isRepriced = isPrice(price) && riseOf(spec.price_per_hour, price) !== 0;
  const wrong = {
    available: isCount(wanted)
      ? cannotAdd || (Math.abs(plan.units) > MOST && t("stock.tooMany", { most: MOST }))
      : t("stock.countWrong"),
    price: !isPrice(price) && t("stock.priceWrong"),
  };
  const coming = onTheirWay(operations, row);
  const isNothing = plan.units === 0 && !isRepriced;
  const submit = () => {
    if (wrong.available) return focusField("available");
    if (wrong.price) return focusField("price");
    if (isNothing) return;
    // the ETag of what is shown goes with it
    if (isChanged) rebase(spec);
    if (isRepriced) reprice.run(price);
    else change.run(plan.units);
  };
  const facts = (of: typeof spec) => [
    {
      key: "price",
      label: t("stock.price"),
      value: t("ui.perHour", { price: money(of.price_per_hour, of.currency) }),
    },
    {
      key: "state",
      label: t("stock.state"),
      value: t(of.state === "active" ? "stock.forSale" : "stock.retired"),
    },
  ];
  const error = change.error ?? reprice.error;
  const isConflict = error instanceof ApiError && error.is("changed-meanwhile");
  const curl = isRepriced
    ? asCurl(updateGpuSpec, { path: { id: spec.id }, body: { price_per_hour: price } })
    : asCurl(plan.units < 0 ? removeStock : addStock, {
        body: { ...place, count: Math.abs(plan.units) || 1 },
      });
  return (
    <Dialog
      open
      atSide
      onClose={onClose}
      onSubmit={submit}
      title={t("stock.update")}
      description={
        <>
          <span className="font-medium font-mono text-ink">{spec.name}</span>{" "}
          {t("stock.in", { datacenter: row.datacenter.name })}
          <span className="num mt-1 block text-ink-3 text-xs">{specText(spec)}</span>
        </>
      }
      footer={
        <>
          <CopyCurl command={curl} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button
            kind="primary"
            type="submit"
            busy={reprice.busy || change.busy}
            disabled={isNothing && t("stock.nothingYet")}
          >
            {t("stock.update")}
          </Button>
        </>
      }
    >
      <div className="space-y-5">
        <div className="grid gap-4 max-md:grid-cols-2">
          <NumberField
            name="available"
            label={t("stock.available")}
            value={wanted}
            onChange={setWanted}
            error={wrong.available || undefined}
            hint={
              coming > 0
                ? t("stock.availableComing", { count: row.available, coming })
                : t("stock.availableNow", { count: row.available })
            }
          />
          <TextField
            name="price"
            label={t("stock.price")}
            value={price}
            onChange={(event) => setPrice(event.target.value.trim())}
            error={wrong.price || undefined}
            hint={t("stock.priceNow", { price: money(spec.price_per_hour, spec.currency) })}
            inputMode="decimal"
            autoComplete="off"
            before={<span className="text-ink-3">{spec.currency}</span>}
            after={<span className="text-ink-3">{t("stock.anHour")}</span>}
          />
        </div>
        <After row={row} plan={plan} />
        <Difference
          row={row}
          rows={rows}
          plan={plan}
          spec={spec}
          price={isRepriced ? price : null}
          coming={coming}
        />
        {isChanged && !reprice.busy && !change.busy && (
          <ChangedMeanwhile differences={differencesOf(facts(base), facts(spec))} />
        )}
        {error && !isConflict && <ErrorLine error={error} />}
      </div>
    </Dialog>
  );
}
