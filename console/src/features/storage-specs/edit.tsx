import { useQueryClient } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import { updateStorageSpec } from "@/api/generated/operations";
import type { StorageSpec, StorageSpecChange, StorageSpecId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct, useLoaded } from "@/api/query";
import { storageSpec } from "@/api/stock";
import { ChangedMeanwhile, DifferenceText, differencesOf, useBase } from "@/domain/catalogue/changed";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { notify } from "@/ui/toast";
import { isSize, isStoragePrice } from "./check";
import { useSizeText } from "./size-text";

/** The largest size and the price: nothing else of it can change. */
export default function EditStorageSpecDialog({ id, onClose }: { id: StorageSpecId; onClose: () => void }) {
  const { t } = useText();
  const { money } = useFormat();
  const client = useQueryClient();
  const sizeText = useSizeText();
  const spec = useLoaded(storageSpec(id));
  const { base, isChanged, rebase } = useBase(spec);
  const update = useAct(
    (body: StorageSpecChange, key) => call(updateStorageSpec, { path: { id }, body }, { key }),
    {
      touches: [["storage-specs"]],
      onDone: ({ name }) => {
        notify({ title: t("catalogue.saved", { name }) });
        onClose();
      },
      onFailed: (error) => {
        if (error instanceof ApiError && error.is("changed-meanwhile"))
          void client.invalidateQueries({ queryKey: ["storage-specs"] });
      },
    },
  );
  const form = useForm({
    initial: { max_size_gib: String(spec.max_size_gib), price_per_gib_month: spec.price_per_gib_month },
    check: (draft) => ({
      max_size_gib:
        isSize(draft.max_size_gib) && Number(draft.max_size_gib) >= spec.min_size_gib
          ? undefined
          : t("catalogue.sizeBelow"),
      price_per_gib_month: isStoragePrice(draft.price_per_gib_month)
        ? undefined
        : t("catalogue.storagePriceWrong"),
    }),
    send: () => {
      rebase({ ...base, updated_at: spec.updated_at });
      update.run(body);
    },
    error: update.error,
  });
  const { max_size_gib, price_per_gib_month } = form.values;
  const body: StorageSpecChange = {
    ...(max_size_gib !== String(base.max_size_gib) && { max_size_gib: Number(max_size_gib) }),
    ...(price_per_gib_month !== base.price_per_gib_month && { price_per_gib_month }),
  };
  const facts = (of: Pick<StorageSpec, "min_size_gib" | "max_size_gib" | "price_per_gib_month">) => [
    { key: "size", label: t("catalogue.sizes"), value: sizeText(of) },
    {
      key: "price",
      label: t("catalogue.price"),
      value: isStoragePrice(of.price_per_gib_month)
        ? t("catalogue.perGibMonth", { price: money(of.price_per_gib_month, spec.currency) })
        : of.price_per_gib_month,
    },
  ];
  const mine = differencesOf(
    facts(base),
    facts({ ...base, max_size_gib: Number(max_size_gib) || 0, price_per_gib_month }),
  );
  const isConflict = update.error instanceof ApiError && update.error.is("changed-meanwhile");
  const nothing = Object.keys(body).length === 0 && t("catalogue.nothingChanged");
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => !nothing && form.submit()}
      title={t("catalogue.editTitle", { name: spec.name })}
      description={t("catalogue.editStorageHint")}
      footer={
        <>
          <CopyCurl command={asCurl(updateStorageSpec, { path: { id }, body })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={update.busy} disabled={nothing}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("max_size_gib")}
          label={t("catalogue.largest")}
          inputMode="numeric"
          after={<span className="text-ink-3">GiB</span>}
        />
        <TextField
          {...form.text("price_per_gib_month")}
          label={t("catalogue.monthPrice")}
          inputMode="decimal"
          autoComplete="off"
        />
        <Changes
          title={t("stock.whatItDoes")}
          empty={t("catalogue.nothingChanged")}
          changes={[
            ...mine.map((it) => ({ key: it.key, sign: "→" as const, text: <DifferenceText it={it} /> })),
            ...(body.price_per_gib_month
              ? [{ key: "keep", sign: "=" as const, text: t("catalogue.storagesKeep") }]
              : []),
          ]}
        />
        {isChanged && !update.busy && (
          <ChangedMeanwhile differences={differencesOf(facts(base), facts(spec))} />
        )}
        {update.error && !isConflict && !Object.values(form.errors).some(Boolean) && (
          <ErrorLine error={update.error} />
        )}
      </div>
    </Dialog>
  );
}
