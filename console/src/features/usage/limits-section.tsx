import { clsx } from "clsx";
import type { ReactNode } from "react";
import type { Quota, StorageQuota } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Meter } from "@/ui/meter";
import { Panel, Section } from "@/ui/page";
import { useRows } from "./limit-rows";

/** What the tenant may have at a time, and has. */
export function LimitsSection({ quota, storages }: { quota: Quota; storages: StorageQuota }) {
  const { t } = useText();
  const rows = useRows(quota, storages);
  return (
    <Section
      title={t("usage.limits")}
      hint={t("usage.limitsHint")}
      actions={
        <Button small disabled={t("usage.adminOnly")}>
          {t("usage.changeLimits")}
        </Button>
      }
    >
      <Panel>
        {rows.map((row) => (
          <Limit key={row.key} title={row.title} hint={row.hint} value={row.value} isPart={row.isPart}>
            {row.part !== null && <Meter part={row.part} label={`${row.title}: ${row.value}`} />}
            {row.part !== null && row.part >= 0.8 && (
              <span className={row.part >= 1 ? "text-vermilion text-xs" : "text-ochre text-xs"}>
                {row.part >= 1 ? t("usage.full") : t("usage.almost")}
              </span>
            )}
          </Limit>
        ))}
        <Limit
          title={t("usage.ownImages")}
          hint={t("usage.ownImagesHint")}
          value={quota.limits.own_images ? t("usage.ownImagesYes") : t("usage.ownImagesNo")}
        />
      </Panel>
    </Section>
  );
}

function Limit({
  title,
  hint,
  value,
  isPart,
  children,
}: {
  title: string;
  /** Of the line above it. */
  isPart?: boolean | undefined;
  hint?: string | undefined;
  value: string;
  children?: ReactNode;
}) {
  return (
    <div
      className={clsx(
        "grid grid-cols-[minmax(0,1fr)_12rem_11rem] items-center gap-x-6 gap-y-1 border-line border-b px-4 last:border-b-0 max-md:grid-cols-[minmax(0,1fr)_auto]",
        isPart ? "min-h-9 py-1" : "min-h-14 py-2.5",
      )}
    >
      <div className={clsx("min-w-0", isPart && "pl-4")}>
        <p className={clsx("text-sm", isPart && "text-ink-2")}>{title}</p>
        {hint && <p className="text-ink-3 text-xs">{hint}</p>}
      </div>
      <p className="num text-right text-sm md:order-last">{value}</p>
      <div className="max-md:col-span-2">{children}</div>
    </div>
  );
}
