import { asCurl, call } from "@/api/client";
import { createStorageSpec } from "@/api/generated/operations";
import type { NewStorageSpec, StorageKind, VolumeAccessMode } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";
import { isSize, isStoragePrice } from "./check";

interface Draft {
  name: string;
  kind: StorageKind;
  min_size_gib: string;
  max_size_gib: string;
  price_per_gib_month: string;
  currency: string;
  storage_class: string;
  access_mode: VolumeAccessMode;
}

const bodyOf = (draft: Draft): NewStorageSpec => ({
  name: draft.name,
  kind: draft.kind,
  min_size_gib: Number(draft.min_size_gib),
  max_size_gib: Number(draft.max_size_gib),
  price_per_gib_month: draft.price_per_gib_month,
  currency: draft.currency,
  ...(draft.kind === "volume" && {
    ...(draft.storage_class && { storage_class: draft.storage_class }),
    access_mode: draft.access_mode,
  }),
});

export default function NewStorageSpecDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const create = useAct((body: NewStorageSpec, key) => call(createStorageSpec, { body }, { key }), {
    touches: [["storage-specs"]],
    onDone: ({ name }) => {
      notify({ title: t("catalogue.specCreated", { name }) });
      onClose();
    },
  });
  const initial: Draft = {
    name: "",
    kind: "volume",
    min_size_gib: "1",
    max_size_gib: "2048",
    price_per_gib_month: "",
    currency: "USD",
    storage_class: "",
    access_mode: "read_write_many",
  };
  const form = useForm({
    initial,
    check: (draft) => ({
      name: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(draft.name) ? undefined : t("catalogue.nameWrong"),
      min_size_gib: isSize(draft.min_size_gib) ? undefined : t("catalogue.sizeWrong"),
      max_size_gib:
        isSize(draft.max_size_gib) && Number(draft.max_size_gib) >= Number(draft.min_size_gib)
          ? undefined
          : t("catalogue.sizeBelow"),
      price_per_gib_month: isStoragePrice(draft.price_per_gib_month)
        ? undefined
        : t("catalogue.storagePriceWrong"),
      currency: /^[A-Z]{3}$/.test(draft.currency) ? undefined : t("catalogue.currencyWrong"),
    }),
    send: (draft) => create.run(bodyOf(draft)),
    error: create.error,
  });
  const gib = <span className="text-ink-3">GiB</span>;
  const isVolume = form.values.kind === "volume";
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      onSubmit={form.submit}
      title={t("catalogue.newStorageSpec")}
      description={t("catalogue.newStorageHint")}
      footer={
        <>
          <CopyCurl command={asCurl(createStorageSpec, { body: bodyOf(form.values) })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("catalogue.createSpec")}
          </Button>
        </>
      }
    >
      <div className="grid grid-cols-2 gap-4 max-md:grid-cols-1">
        <TextField
          {...form.text("name")}
          label={t("catalogue.name")}
          hint={t("catalogue.nameHint")}
          autoComplete="off"
        />
        <SelectField
          label={t("catalogue.kind")}
          value={form.values.kind}
          onChange={(kind) => form.set("kind", kind)}
          choices={[
            { value: "volume", label: t("catalogue.volume"), hint: t("catalogue.volumeHint") },
            { value: "bucket", label: t("catalogue.bucket"), hint: t("catalogue.bucketHint") },
          ]}
        />
        <TextField
          {...form.text("min_size_gib")}
          label={t("catalogue.smallest")}
          inputMode="numeric"
          after={gib}
        />
        <TextField
          {...form.text("max_size_gib")}
          label={t("catalogue.largest")}
          hint={t("catalogue.fixedHint")}
          inputMode="numeric"
          after={gib}
        />
        <TextField
          {...form.text("price_per_gib_month")}
          label={t("catalogue.monthPrice")}
          hint={t("catalogue.monthPriceHint")}
          inputMode="decimal"
          autoComplete="off"
        />
        <TextField
          {...form.text("currency")}
          label={t("catalogue.currency")}
          maxLength={3}
          autoComplete="off"
        />
        {isVolume && (
          <>
            <TextField
              {...form.text("storage_class")}
              label={t("catalogue.storageClass")}
              hint={t("catalogue.storageClassHint")}
              placeholder={t("catalogue.defaultClass")}
              autoComplete="off"
            />
            <SelectField
              label={t("catalogue.accessMode")}
              value={form.values.access_mode}
              onChange={(mode) => form.set("access_mode", mode)}
              choices={[
                {
                  value: "read_write_many",
                  label: t("catalogue.manyNodes"),
                  hint: t("catalogue.manyNodesHint"),
                },
                { value: "read_write_once", label: t("catalogue.oneNode"), hint: t("catalogue.oneNodeHint") },
              ]}
            />
          </>
        )}
      </div>
      {create.error && !Object.values(form.errors).some(Boolean) && (
        <ErrorLine error={create.error} className="mt-4" />
      )}
    </Dialog>
  );
}
