import { useInfiniteQuery } from "@tanstack/react-query";
import type { Storage, StorageId } from "@/api/generated/types";
import { instances } from "@/api/instances/queries";
import { useLoaded } from "@/api/query";
import { storage } from "@/api/storages/queries";
import { useStorageText } from "@/domain/storages/describe";
import { MountList } from "@/domain/storages/mount-list";
import { isMoving } from "@/domain/storages/standing";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Empty, Panel, Section } from "@/ui/page";
import { SumLine } from "@/ui/sum";
import { Address } from "./address";
import { FailedReason, WhatToDo } from "./failed";
import { LatestOperations } from "./latest";
import { Progress } from "./progress";

export function OverviewPage({ id }: { id: StorageId }) {
  const it = useLoaded(storage(id));
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] items-start gap-x-10 gap-y-8 min-[1100px]:grid-cols-[minmax(0,1fr)_20rem]">
      <div className="min-w-0 space-y-8 [&>section]:mt-0">
        {it.state === "failed" && <FailedReason it={it} />}
        {isMoving(it) && <Progress it={it} />}
        {it.kind === "bucket" ? (
          <Address it={it} />
        ) : (
          (it.state !== "failed" || it.attachments.length > 0) && <Instances it={it} />
        )}
        <LatestOperations it={it} />
      </div>
      <div className="grid min-w-0 gap-8 [&>section]:mt-0">
        {it.state === "failed" && <WhatToDo it={it} />}
        <Costs it={it} />
      </div>
    </div>
  );
}

function Instances({ it }: { it: Storage }) {
  const { t } = useText();
  const { day } = useFormat();
  const { data } = useInfiniteQuery(instances());
  return (
    <Section title={t("storages.instances")}>
      {it.attachments.length === 0 ? (
        <Panel>
          <Empty title={t("storages.nobodyTitle")}>{t("storages.nobodyHint")}</Empty>
        </Panel>
      ) : (
        <MountList
          it={it}
          instances={data?.pages.flatMap((page) => page.items) ?? []}
          more={({ attachment }) => (
            <span className="num"> · {t("storages.since", { when: day(attachment.since) })}</span>
          )}
        />
      )}
    </Section>
  );
}

function Costs({ it }: { it: Storage }) {
  const { t } = useText();
  const { money } = useFormat();
  const text = useStorageText();
  return (
    <Section title={t("storages.costs")}>
      <Panel className="px-4 py-3">
        <dl className="space-y-1.5 text-sm">
          <SumLine name={t("storages.size")}>{t("storages.gib", { size: it.size_gib })}</SumLine>
          <SumLine name={t("storages.perGibMonth")}>{money(it.price_per_gib_month, it.currency)}</SumLine>
          <SumLine name={<span className="font-medium text-ink">{t("storages.monthly")}</span>}>
            <span className="font-medium text-lg">{text.price(it)}</span>
          </SumLine>
        </dl>
        <p className="mt-2 border-line border-t pt-2 text-ink-3 text-xs">{t("storages.costsHint")}</p>
      </Panel>
    </Section>
  );
}
