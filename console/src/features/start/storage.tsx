import { clsx } from "clsx";
import { type ReactNode, useId } from "react";
import type { Storage, StorageSpec } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { TextField } from "@/ui/field";
import { Panel } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { type Draft, volumesOf } from "./order";
import type { StartForm } from "./use-start";

export function StorageFields({
  form,
  storages,
  specs,
  noMount,
}: {
  form: StartForm;
  storages: readonly Storage[];
  specs: readonly StorageSpec[];
  /** The service uses no storage. */
  noMount: boolean;
}) {
  const { t } = useText();
  const { money, total, sentences } = useFormat();
  const { values } = form;
  const volumes = volumesOf(storages);
  const kinds = specs.filter((it) => it.kind === "volume");
  const spec = kinds.find((it) => it.name === values["new_storage.storage_spec"]);
  const size = Number(values["new_storage.size_gib"]) || 0;
  const chosen = volumes.find((it) => it.id === values.storage_id);
  const perMonth = (text: string) => t("start.perMonth", { price: text });
  return (
    <Panel>
      <Way
        form={form}
        value="new"
        title={t("start.newStorage")}
        hint={t("start.newStorageHint")}
        cost={
          spec && size > 0 ? perMonth(total(monthlyOf([{ ...spec, size_gib: Math.floor(size) }]))) : undefined
        }
        refused={noMount ? t("start.noMount") : kinds.length === 0 ? t("start.noVolumes") : undefined}
      >
        <div className="grid items-start gap-3 sm:grid-cols-[minmax(0,1fr)_7rem_8rem] max-sm:grid-cols-2">
          <TextField
            {...form.text("new_storage.name")}
            className="max-sm:col-span-2"
            label={t("start.name")}
            error={form.error("new_storage.name") ?? form.error("new_storage")}
            autoComplete="off"
          />
          <TextField
            {...form.text("new_storage.size_gib")}
            label={t("start.size")}
            inputMode="numeric"
            after={<span className="text-ink-3 text-xs">GiB</span>}
          />
          <SelectField
            label={t("start.kind")}
            value={values["new_storage.storage_spec"]}
            onChange={(value) => form.set("new_storage.storage_spec", value)}
            error={form.error("new_storage.storage_spec")}
            choices={kinds.map((it) => ({
              value: it.name,
              label: it.name,
              hint: t("start.perGib", { price: money(it.price_per_gib_month, it.currency) }),
            }))}
          />
        </div>
        {spec && (
          <p className="mt-1 text-ink-3 text-xs">
            {sentences([
              t("start.perGib", { price: money(spec.price_per_gib_month, spec.currency) }),
              t("start.growHint"),
            ])}
          </p>
        )}
      </Way>
      <Way
        form={form}
        value="existing"
        title={t("start.existing")}
        hint={volumes.length > 0 ? t("start.existingHint", { count: volumes.length }) : undefined}
        cost={t("start.nothingMore")}
        refused={noMount ? t("start.noMount") : volumes.length === 0 ? t("start.noneExisting") : undefined}
      >
        <SelectField
          label={t("start.which")}
          value={values.storage_id}
          onChange={(id) => form.set("storage_id", id)}
          error={form.error("storage_id")}
          hint={chosen && (chosen.attachments.length > 0 ? t("start.shared") : undefined)}
          choices={volumes.map((it) => ({
            value: it.id as string,
            label: it.name,
            hint: [
              it.datacenter,
              t("start.gib", { size: it.size_gib }),
              it.attachments.length > 0 && t("start.usedBy", { count: it.attachments.length }),
            ]
              .filter(Boolean)
              .join(" · "),
          }))}
        />
      </Way>
      <Way
        form={form}
        value="none"
        title={t("start.noStorage")}
        hint={t("start.noStorageHint")}
        cost={spec ? money("0", spec.currency) : undefined}
      />
    </Panel>
  );
}

function Way({
  form,
  value,
  title,
  hint,
  cost,
  refused,
  children,
}: {
  form: StartForm;
  value: Draft["storage"];
  title: string;
  hint?: string | undefined;
  cost?: string | undefined;
  refused?: string | undefined;
  children?: ReactNode;
}) {
  const id = useId();
  const chosen = form.values.storage === value;
  return (
    <div className="border-line border-b px-4 py-3 last:border-b-0">
      <label className={clsx("flex items-start gap-3", refused ? "cursor-not-allowed" : "cursor-pointer")}>
        <input
          type="radio"
          name="storage"
          value={value}
          checked={chosen}
          aria-disabled={refused ? true : undefined}
          aria-describedby={refused || hint ? id : undefined}
          onChange={() => {
            if (!refused) form.set("storage", value);
          }}
          className="mt-0.75 size-4 shrink-0"
        />
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-baseline justify-between gap-x-3">
            <span className={clsx("font-medium text-sm", refused && "text-ink-3")}>{title}</span>
            {cost && !refused && <span className="num text-ink-2 text-sm">{cost}</span>}
          </span>
          {(refused ?? hint) && (
            <span id={id} className="block text-ink-3 text-xs">
              {refused ?? hint}
            </span>
          )}
        </span>
      </label>
      {chosen && children && <div className="mt-3 pl-7">{children}</div>}
    </div>
  );
}
