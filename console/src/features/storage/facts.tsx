import type { ReactNode } from "react";
import type { Storage } from "@/api/generated/types";
import { useStorageText } from "@/domain/storages/describe";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";

/** What it is and where, in one row. */
export function Facts({ it }: { it: Storage }) {
  const { t } = useText();
  const { day } = useFormat();
  const text = useStorageText();
  return (
    <dl className="num mb-5 grid grid-cols-2 gap-x-4 gap-y-3 text-sm md:flex md:flex-wrap md:gap-x-10">
      <Fact label={t("storages.kind")}>{t(`storages.${it.kind}`)}</Fact>
      <Fact label={t("storages.specification")}>
        <span className="font-mono text-xs leading-5">{it.storage_spec.name}</span>
      </Fact>
      <Fact label={t("storages.where")}>{it.datacenter ?? t("storages.everywhere")}</Fact>
      <Fact label={t("storages.size")}>{text.size(it)}</Fact>
      <Fact label={t("storages.usedFact")}>
        <span title={t("storages.usedUnknown")}>
          –<span className="sr-only"> {t("storages.usedUnknown")}</span>
        </span>
      </Fact>
      <Fact label={t("storages.price")}>{t("storages.perMonth", { price: text.price(it) })}</Fact>
      <Fact label={t("storages.made")}>{day(it.created_at)}</Fact>
      <Fact label={t("storages.id")}>
        <span className="-my-1 flex items-center gap-0.5">
          <span className="font-mono text-xs" title={it.id}>
            {shortId(it.id)}
          </span>
          <CopyIconButton text={it.id} label={t("storages.copyId")} />
        </span>
      </Fact>
    </dl>
  );
}

function Fact({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-ink-3 text-xs">{label}</dt>
      <dd className="break-words">{children}</dd>
    </div>
  );
}
