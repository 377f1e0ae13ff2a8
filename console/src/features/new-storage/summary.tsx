import { asCurl } from "@/api/client";
import { createStorage } from "@/api/generated/operations";
import type { NewStorage, StorageQuota, StorageSpec } from "@/api/generated/types";
import { useDescribe } from "@/domain/instances/describe";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { RequestId } from "@/ui/error";
import { SumFact, SumLine } from "@/ui/sum";

export interface Sum {
  spec: StorageSpec | undefined;
  /** NaN until it is a whole number. */
  size: number;
  body: NewStorage;
  quota: StorageQuota;
  refusal: Error | null;
  hasErrors: boolean;
  /** Why it cannot be pressed. */
  reason: string | false;
  busy: boolean;
}

function usePrice({ spec, size }: Pick<Sum, "spec" | "size">): string | null {
  const { total } = useFormat();
  return spec && size > 0 ? total(monthlyOf([{ ...spec, size_gib: size }])) : null;
}

export function Summary(sum: Sum) {
  const { t } = useText();
  const describe = useDescribe();
  const { spec, size, body, quota, refusal, hasErrors } = sum;
  const price = usePrice(sum);
  const { limits, used } = quota;
  const added = size > 0 ? size : 0;
  return (
    <section
      aria-labelledby="summary"
      className="rounded-lg border border-line bg-sheet px-4 py-4 lg:sticky lg:top-6"
    >
      <h2 id="summary" className="font-medium text-lg">
        {t("storages.summary")}
      </h2>
      <dl className="mt-3 grid grid-cols-[5.5rem_minmax(0,1fr)] gap-y-3 text-sm">
        <SumFact name={t("storages.name")}>{body.name || <span className="text-ink-3">…</span>}</SumFact>
        <SumFact name={t("storages.kind")} more={spec && <span className="font-mono">{spec.name}</span>}>
          {spec && t(`storages.${spec.kind}`)}
        </SumFact>
        <SumFact name={t("storages.size")}>
          {size > 0 ? t("storages.gib", { size }) : <span className="text-ink-3">…</span>}
        </SumFact>
        <SumFact name={t("storages.where")}>
          {spec?.kind === "volume" ? body.datacenter : t("storages.everywhere")}
        </SumFact>
      </dl>
      <dl className="mt-4 space-y-1.5 border-line border-t pt-3 text-sm">
        <SumLine name={<span className="font-medium text-ink">{t("storages.monthly")}</span>}>
          <span className="font-medium text-lg">{price ?? "–"}</span>
        </SumLine>
      </dl>
      <div className="mt-3 border-line border-t pt-3">
        <p className="font-medium text-sm">{t("storages.quota")}</p>
        <Meter
          label={t("storages.quotaGibAfter", { used: used.gib, added, limit: limits.gib })}
          used={used.gib}
          added={added}
          limit={limits.gib}
        />
        <Meter
          label={t("storages.quotaStoragesAfter", { used: used.storages, added: 1, limit: limits.storages })}
          used={used.storages}
          added={1}
          limit={limits.storages}
        />
      </div>
      {(hasErrors || refusal) && (
        <div
          role="alert"
          className="mt-3 rounded-md border border-vermilion bg-vermilion-wash px-3 py-2 text-sm"
        >
          <p className="text-vermilion">{refusal ? describe(refusal) : t("storages.seeFields")}</p>
          <RequestId error={refusal} />
        </div>
      )}
      <div className="mt-3 grid gap-2">
        <CreateButton {...sum} className="max-lg:hidden" />
        <CopyButton label={t("ui.copyAsCurl")} text={asCurl(createStorage, { body })} />
      </div>
      <p className="mt-2 text-center text-ink-3 text-xs">{t("storages.whileExists")}</p>
    </section>
  );
}

/** What is used, what is added and what is left, as a ruled line. */
function Meter({ label, used, added, limit }: { label: string; used: number; added: number; limit: number }) {
  const part = (value: number) => `${limit > 0 ? Math.min(100, (value / limit) * 100) : 100}%`;
  const isOver = used + added > limit;
  return (
    <div className="mt-2">
      <p className={`num text-xs ${isOver ? "text-vermilion" : "text-ink-3"}`}>{label}</p>
      <div
        className="relative mt-1 h-2 overflow-hidden rounded-sm border border-line-strong"
        aria-hidden="true"
      >
        <div
          className={`absolute inset-y-0 left-0 ${isOver ? "bg-vermilion" : "bg-ultra"}`}
          style={{ width: part(used + added) }}
        />
        <div className="absolute inset-y-0 left-0 bg-ink-3" style={{ width: part(used) }} />
      </div>
    </div>
  );
}

function CreateButton(sum: Sum & { className?: string }) {
  const { t } = useText();
  const price = usePrice(sum);
  return (
    <Button kind="primary" type="submit" busy={sum.busy} disabled={sum.reason} className={sum.className}>
      <span className="num">{price ? t("storages.createAt", { price }) : t("storages.create")}</span>
    </Button>
  );
}

/** On narrow screens: the price and the one filled button, always in reach. */
export function CreateBar(sum: Sum) {
  const { t } = useText();
  const { spec, size } = sum;
  return (
    <div className="fixed inset-x-0 bottom-0 z-10 flex items-center justify-between gap-3 border-line border-t bg-paper px-5 py-2.5 md:left-54 md:px-8 lg:hidden">
      <p className="num min-w-0 text-xs">
        <span className="block truncate">
          {spec && size > 0 && `${t(`storages.${spec.kind}`)} · ${t("storages.gib", { size })}`}
        </span>
        <span className="line-clamp-2 text-ink-3">{t("storages.whileExists")}</span>
      </p>
      <CreateButton {...sum} />
    </div>
  );
}
