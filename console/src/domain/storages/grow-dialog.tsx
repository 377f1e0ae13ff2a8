import { useQuery, useQueryClient } from "@tanstack/react-query";
import { storageSpecs } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { updateStorage } from "@/api/generated/operations";
import type { Storage } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { keys, putStorage } from "@/api/storages/cache";
import { storage, storageQuota } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SumLine } from "@/ui/sum";
import { notify } from "@/ui/toast";
import { useStorageText } from "./describe";
import { overGib, roomOf, sizeRefusal } from "./quota";
import { wholeGib } from "./size";

/** The suggested size: 1.5 times the present one, rounded up to tens of GiB, within the limits of the specification and the quota. */
const suggested = (size: number, most: number) =>
  Math.max(size + 1, Math.min(Math.ceil((size * 1.5) / 10) * 10, most));

/** More room, with the price before and after. */
export default function GrowDialog({ it, onClose }: { it: Storage; onClose: () => void }) {
  const { t } = useText();
  const text = useStorageText();
  const client = useQueryClient();
  const { data: specs } = useQuery(storageSpecs);
  const { data: quota } = useQuery(storageQuota);
  const path = { id: it.id };
  const max = specs?.find((one) => one.id === it.storage_spec.id)?.max_size_gib;
  const grow = useAct(
    async (size_gib: number, key) => {
      // the change carries the state that was read last
      await client.fetchQuery(storage(it.id));
      return call(updateStorage, { path, body: { size_gib } }, { key });
    },
    {
      onDone: (answer) => {
        putStorage(client, answer);
        void client.invalidateQueries({ queryKey: keys.quota });
        void client.invalidateQueries({ queryKey: ["storage-operations", it.id] });
        notify({ title: t("storages.grows", { name: it.name, size: answer.size_gib }) });
        onClose();
      },
      onFailed: () => void client.invalidateQueries({ queryKey: keys.quota }),
    },
  );
  const room = quota ? roomOf(quota).gib : Number.POSITIVE_INFINITY;
  const most = Math.min(max ?? Number.POSITIVE_INFINITY, it.size_gib + room);
  const form = useForm({
    initial: { size_gib: String(suggested(it.size_gib, most)) },
    check: ({ size_gib }) => {
      const size = wholeGib(size_gib);
      const isLarger = size > it.size_gib && (max === undefined || size <= max);
      if (isLarger) return { size_gib: quota && overGib(quota, size - it.size_gib, t) };
      return {
        size_gib:
          max === undefined
            ? t("storages.sizeAbove", { size: it.size_gib })
            : t("storages.sizeLarger", { min: it.size_gib + 1, max }),
      };
    },
    send: ({ size_gib }) => grow.run(wholeGib(size_gib)),
    error: grow.error,
  });
  const field = form.text("size_gib");
  const refused = sizeRefusal(grow.error, t);
  const wanted = wholeGib(form.values.size_gib);
  const isMore = wanted > it.size_gib;
  const price = (size_gib: number) => text.price({ ...it, size_gib });
  const perMonth = (size_gib: number) => t("storages.perMonth", { price: price(size_gib) });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("storages.growTitle", { name: it.name })}
      description={t("storages.growHint")}
      footer={
        <>
          <CopyCurl
            command={asCurl(updateStorage, { path, body: { size_gib: isMore ? wanted : it.size_gib + 1 } })}
          />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={grow.busy}>
            <span className="num">
              {isMore ? t("storages.growVerb", { price: price(wanted) }) : t("storages.growVerbOpen")}
            </span>
          </Button>
        </>
      }
    >
      <TextField
        {...field}
        onChange={(event) => {
          grow.reset();
          field.onChange(event);
        }}
        error={field.error ?? refused}
        label={t("storages.newSize")}
        hint={max !== undefined && t("storages.sizeNow", { size: it.size_gib, max })}
        inputMode="numeric"
        autoComplete="off"
        after={<span className="text-ink-3 text-xs">GiB</span>}
      />
      <dl className="mt-4 space-y-1.5 border-line border-t pt-3 text-sm" aria-live="polite">
        <SumLine name={t("storages.now")}>{perMonth(it.size_gib)}</SumLine>
        <SumLine name={t("storages.after")}>{isMore ? perMonth(wanted) : "–"}</SumLine>
        <SumLine name={<span className="font-medium text-ink">{t("storages.difference")}</span>}>
          <span className="font-medium">
            {isMore ? t("storages.moreAMonth", { price: price(wanted - it.size_gib) }) : "–"}
          </span>
        </SumLine>
      </dl>
      {quota && <p className="mt-3 text-ink-3 text-xs">{t("storages.quotaLeft", roomOf(quota))}</p>}
      {grow.error != null && !field.error && !refused && <ErrorLine error={grow.error} className="mt-4" />}
    </Dialog>
  );
}
