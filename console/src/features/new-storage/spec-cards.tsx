import { clsx } from "clsx";
import type { StorageSpec } from "@/api/generated/types";
import { isFixed } from "@/domain/storages/size";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";

/** Kinds of storage: what each is, what it costs, how large it may be. */
export function SpecCards({
  specs,
  value,
  error,
  onChange,
}: {
  specs: readonly StorageSpec[];
  value: string;
  error: string | undefined;
  onChange: (spec: StorageSpec) => void;
}) {
  const { t } = useText();
  return (
    <>
      <div role="radiogroup" aria-label={t("storages.kind")} className="grid gap-3 sm:grid-cols-2">
        {specs.map((spec) => (
          <Card key={spec.id} spec={spec} chosen={spec.name === value} onChoose={() => onChange(spec)} />
        ))}
      </div>
      {error && <p className="mt-2 text-vermilion text-xs">{error}</p>}
    </>
  );
}

function Card({ spec, chosen, onChoose }: { spec: StorageSpec; chosen: boolean; onChoose: () => void }) {
  const { t } = useText();
  const { money } = useFormat();
  const hint =
    spec.kind === "bucket"
      ? t("storages.bucketHint")
      : t(spec.access_mode === "read_write_once" ? "storages.volumeOneHint" : "storages.volumeHint");
  return (
    <label
      className={clsx(
        "grid cursor-pointer grid-cols-[auto_minmax(0,1fr)] gap-x-3 rounded-lg border bg-sheet px-4 py-3 has-focus-visible:outline-2 has-focus-visible:outline-ultra",
        chosen ? "border-ultra ring-1 ring-ultra" : "border-line hover:border-line-strong",
      )}
    >
      <input
        type="radio"
        name="storage_spec"
        value={spec.name}
        checked={chosen}
        onChange={onChoose}
        className="mt-0.75 size-4 outline-none"
      />
      <span className="min-w-0">
        <span className="flex flex-wrap items-baseline justify-between gap-x-3">
          <span className="font-medium">{spec.name}</span>
          <span className="num font-medium text-sm">
            {t("storages.perGib", { price: money(spec.price_per_gib_month, spec.currency) })}
          </span>
        </span>
        <span className="flex flex-wrap items-baseline justify-between gap-x-3 text-ink-3 text-xs">
          <span>{t(`storages.${spec.kind}`)}</span>
          <span className="num">
            {isFixed(spec)
              ? t("storages.sizeOnly", { size: spec.min_size_gib })
              : t("storages.sizes", { min: spec.min_size_gib, max: spec.max_size_gib })}
          </span>
        </span>
        <span className="mt-1.5 block text-ink-2 text-sm">{hint}</span>
      </span>
    </label>
  );
}
