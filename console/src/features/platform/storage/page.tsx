import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { monthlyOf } from "@/lib/money";
import { Button } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { PageHead, Panel, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { ActionRows } from "../parts/action-rows";
import { IdText, TenantLink } from "../parts/links";
import { DeleteStorageDialog } from "../storages/delete";
import { storage, storageActions } from "../storages/queries";
import { storageStanding } from "../storages/standing";

const route = getRouteApi("/_app/admin/storages/$id");

export function StoragePage() {
  const { t } = useText();
  const { total, day, clock } = useFormat();
  const { id } = route.useParams();
  const it = useLoaded(storage(id));
  const actions = useLoadedPages(storageActions(id));
  const [deleting, setDeleting] = useState(false);
  const { mark, word } = storageStanding[it.state];
  return (
    <>
      <PageHead
        title={it.name}
        up={{ label: t("fleet.storages"), link: { to: "/admin/storages" } }}
        mark={<StateMark mark={mark}>{t(word)}</StateMark>}
        actions={
          <Button
            disabled={it.state === "deleting" && t("fleet.isDeleting")}
            onClick={() => setDeleting(true)}
          >
            {t("fleet.deleteDots")}
          </Button>
        }
      >
        {it.message ?? t("fleet.sizeCosts", { size: it.size_gib, price: total(monthlyOf([it])) })}
      </PageHead>
      <Facts>
        <Fact label={t("platform.tenant")}>
          <TenantLink id={it.tenant_id} />
        </Fact>
        <Fact label={t("platform.specification")}>
          <span className="font-mono text-xs leading-5">{it.storage_spec.name}</span>
        </Fact>
        <Fact label={t("platform.datacenter")}>{it.datacenter ?? t("fleet.everywhere")}</Fact>
        <Fact label={t("platform.created")}>{day(it.created_at)}</Fact>
        <Fact label={t("platform.id")}>
          <IdText id={it.id} />
        </Fact>
      </Facts>
      <Section title={t("fleet.usedBy")}>
        <Panel>
          {it.attachments.length === 0 && (
            <p className="px-4 py-3 text-ink-2 text-sm">{t("fleet.notAttached")}</p>
          )}
          <ul className="num text-sm">
            {it.attachments.map((one) => (
              <li
                key={one.instance_id}
                className="flex min-h-9 items-center justify-between gap-3 border-line border-b px-4 last:border-b-0"
              >
                <Link
                  to="/admin/instances/$id"
                  params={{ id: one.instance_id }}
                  className="font-mono text-xs hover:text-ultra hover:underline"
                >
                  {shortId(one.instance_id)}
                </Link>
                <span className="text-ink-3">{t("fleet.since", { time: clock(one.since) })}</span>
              </li>
            ))}
          </ul>
        </Panel>
      </Section>
      <Section title={t("fleet.record")} hint={t("fleet.recordHint")}>
        <ActionRows items={actions.data.pages.flatMap((page) => page.items)} />
      </Section>
      {deleting && <DeleteStorageDialog it={it} onClose={() => setDeleting(false)} />}
    </>
  );
}
