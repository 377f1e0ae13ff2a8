import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { asCurl } from "@/api/client";
import { listModels } from "@/api/generated/operations";
import type { Model } from "@/api/generated/types";
import { baseModels, models } from "@/api/models";
import { useLoaded, useLoadedPages } from "@/api/query";
import { TrainLink } from "@/domain/models/train-link";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { ButtonLink } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Empty, PageHead, Section } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { BaseTable } from "./base-table";
import type { ModelDialog } from "./model-menu";
import { ModelTable } from "./model-table";
import { basesOf, matches } from "./search";

const RenameDialog = drawnLater(() => import("./rename"));
const DeleteDialog = drawnLater(() => import("./delete"));

const route = getRouteApi("/_app/models/");

export function ModelsPage() {
  const { t } = useText();
  const { name = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(models);
  const bases = useLoaded(baseModels);
  const [open, setOpen] = useState<{ dialog: ModelDialog; it: Model } | null>(null);
  const all = list.data.pages.flatMap((page) => page.items);
  const unreadable = list.data.pages.flatMap((page) => page.unreadable);
  const shown = all.filter((it) => matches(it, name));
  const isEmpty = all.length === 0;
  const close = () => setOpen(null);
  return (
    <>
      <PageHead title={t("models.title")} actions={<TrainLink kind="primary">{t("models.train")}</TrainLink>}>
        <Sentence items={all} isWhole={!list.hasNextPage} bases={basesOf(bases).length} />
      </PageHead>
      <Section
        title={t("models.own")}
        hint={!isEmpty && t("models.ownHint")}
        actions={
          !isEmpty && (
            <SearchField
              label={t("models.filterName")}
              value={name}
              onChange={(next) => void navigate({ search: next ? { name: next } : {}, replace: true })}
            />
          )
        }
      >
        <ModelTable
          items={shown}
          onOpen={(dialog, it) => setOpen({ dialog, it })}
          onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
          empty={isEmpty ? <NoModels /> : <NoneFound />}
        />
        {unreadable.length > 0 && (
          <p className="mt-3 break-all text-ochre text-sm">
            {t("models.unreadable", { count: unreadable.length, ids: unreadable.join(", ") })}
          </p>
        )}
      </Section>
      <Section title={t("models.base")} hint={t("models.baseHint")}>
        <BaseTable items={bases} />
      </Section>
      {open?.dialog === "rename" && <RenameDialog it={open.it} onClose={close} />}
      {open?.dialog === "delete" && <DeleteDialog it={open.it} onClose={close} />}
    </>
  );
}

function Sentence({ items, isWhole, bases }: { items: readonly Model[]; isWhole: boolean; bases: number }) {
  const { t } = useText();
  const { bytes } = useFormat();
  const known = t("models.bases", { count: bases });
  if (items.length === 0) return t("models.summaryNone", { bases: known });
  return t("models.summary", {
    models: isWhole
      ? t("models.count", { count: items.length })
      : t("models.countSome", { count: items.length }),
    size: bytes(items.reduce((sum, it) => sum + it.bytes, 0)),
    bases: known,
  });
}

function NoModels() {
  const { t } = useText();
  return (
    <Empty
      title={t("models.none")}
      actions={
        <>
          <TrainLink>{t("models.train")}</TrainLink>
          <CopyButton label={t("ui.copyAsCurl")} text={asCurl(listModels)} />
        </>
      }
    >
      {t("models.noneHint")}
    </Empty>
  );
}

function NoneFound() {
  const { t } = useText();
  return (
    <Empty
      title={t("models.noneFound")}
      actions={
        <ButtonLink to="/models" search={{}} replace>
          {t("models.showAll")}
        </ButtonLink>
      }
    >
      {t("models.noneFoundHint")}
    </Empty>
  );
}
