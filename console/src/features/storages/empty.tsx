import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { storageSpecs } from "@/api/catalogue";
import { asCurl } from "@/api/client";
import { createStorage } from "@/api/generated/operations";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { Button, ButtonLink } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Empty } from "@/ui/page";

/** The verb of the page: a link, or why it cannot be pressed. */
export function CreateLink({ reason, primary }: { reason: string | false; primary?: boolean }) {
  const { t } = useText();
  const kind = primary ? "primary" : "plain";
  const label = (
    <>
      <Plus className="size-4" aria-hidden="true" />
      {t("storages.createOne")}
    </>
  );
  return reason ? (
    <Button kind={kind} disabled={reason}>
      {label}
    </Button>
  ) : (
    <ButtonLink kind={kind} to="/storages/new">
      {label}
    </ButtonLink>
  );
}

export function NoStorages({ reason }: { reason: string | false }) {
  const { t } = useText();
  const { money } = useFormat();
  const { data: specs } = useQuery(storageSpecs);
  const [cheapest] =
    specs?.toSorted((a, b) =>
      Number(parseAmount(a.price_per_gib_month) - parseAmount(b.price_per_gib_month)),
    ) ?? [];
  const volume = specs?.find((it) => it.kind === "volume");
  return (
    <>
      <Empty title={t("storages.emptyTitle")} actions={<CreateLink reason={reason} />}>
        {cheapest
          ? t("storages.emptyHint", { price: money(cheapest.price_per_gib_month, cheapest.currency) })
          : t("storages.emptyHintNoPrice")}
      </Empty>
      {!reason && volume && (
        <div className="mx-auto max-w-136 px-4 pb-8">
          <p className="mb-1 text-ink-3 text-xs">{t("storages.curlList")}</p>
          <CopyBox
            lines
            text={asCurl(createStorage, {
              body: {
                name: "models",
                storage_spec: volume.name,
                size_gib: Math.max(40, volume.min_size_gib),
              },
            })}
            label={t("ui.copyAsCurl")}
          />
        </div>
      )}
    </>
  );
}

export function NoneFound() {
  const { t } = useText();
  return (
    <Empty
      title={t("storages.noneFound")}
      actions={
        <Link to="/storages" className="text-sm text-ultra hover:underline">
          {t("storages.clear")}
        </Link>
      }
    >
      {t("storages.noneFoundHint")}
    </Empty>
  );
}
