import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { useLoaded, useLoadedPages } from "@/api/query";
import { reasonOf, standingOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { PriceTag } from "@/ui/money";
import { PageHead, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type InstanceAct, InstanceActDialog, useWhyNotAct } from "../instances/act";
import { instance, instanceActions, sshSessions } from "../instances/queries";
import { ActionRows } from "../parts/action-rows";
import { IdText, TenantLink } from "../parts/links";
import { SshRows } from "../parts/ssh-rows";

const route = getRouteApi("/_app/admin/instances/$id");

export function InstancePage() {
  const { t, language } = useText();
  const { money, day, duration } = useFormat();
  const now = useNow();
  const { id } = route.useParams();
  const it = useLoaded(instance(id));
  const actions = useLoadedPages(instanceActions(id));
  const ssh = useLoadedPages(sshSessions({ instance: id }));
  const [act, setAct] = useState<InstanceAct | null>(null);
  const whyNot = useWhyNotAct();
  const { mark, word } = standingOf(it);
  const service = it.service ? `${it.service} ${it.version ?? ""}` : t("instances.ownImage");
  return (
    <>
      <PageHead
        title={it.name}
        up={{ label: t("nav.instances"), link: { to: "/admin/instances" } }}
        mark={<StateMark mark={mark}>{t(word)}</StateMark>}
        actions={
          <>
            <Button disabled={whyNot(it, "stop")} onClick={() => setAct("stop")}>
              {t("fleet.stopDots")}
            </Button>
            <Button disabled={whyNot(it, "delete")} onClick={() => setAct("delete")}>
              {t("fleet.deleteDots")}
            </Button>
          </>
        }
      >
        {it.started_at
          ? t("fleet.runsFor", {
              duration: duration((now - Date.parse(it.started_at)) / 1000),
              price: t("ui.perHour", { price: money(it.price_per_hour, it.currency) }),
            })
          : (reasonOf(it, t, language) ?? t("fleet.rests"))}
      </PageHead>
      <Facts>
        <Fact label={t("platform.tenant")}>
          <TenantLink id={it.tenant_id} />
        </Fact>
        <Fact label={t("platform.specification")}>
          <span className="font-mono text-xs leading-5">{it.gpu_spec.name}</span>
        </Fact>
        <Fact label={t("platform.datacenter")}>{it.datacenter ?? "–"}</Fact>
        <Fact label={t("platform.node")}>
          <span className="font-mono text-xs leading-5">{it.node ?? "–"}</span>
        </Fact>
        <Fact label={t("fleet.service")}>{service}</Fact>
        <Fact label={t("platform.price")}>
          <PriceTag perHour={it.price_per_hour} currency={it.currency} />
        </Fact>
        <Fact label={t("fleet.storages")}>{it.storages.length}</Fact>
        <Fact label={t("platform.created")}>{day(it.created_at)}</Fact>
        <Fact label={t("platform.id")}>
          <IdText id={it.id} />
        </Fact>
      </Facts>
      <Section title={t("fleet.record")} hint={t("fleet.recordHint")}>
        <ActionRows items={actions.data.pages.flatMap((page) => page.items)} />
      </Section>
      <Section title={t("fleet.ssh")}>
        <SshRows
          items={ssh.data.pages.flatMap((page) => page.items)}
          withInstance={false}
          isLoadingMore={ssh.isFetchingNextPage}
          onEnd={ssh.hasNextPage ? () => void ssh.fetchNextPage() : undefined}
        />
      </Section>
      {act && <InstanceActDialog it={it} act={act} onClose={() => setAct(null)} />}
    </>
  );
}
