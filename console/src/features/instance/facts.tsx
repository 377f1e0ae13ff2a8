import { useQuery } from "@tanstack/react-query";
import { gpuSpecs } from "@/api/catalogue";
import type { Instance } from "@/api/generated/types";
import { history, people } from "@/api/instances/details";
import { useMe } from "@/api/session";
import { useActorName } from "@/domain/actor";
import { gpuTitle } from "@/domain/instances/gpu";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";
import { Fact, Facts as FactRow } from "@/ui/facts";
import { PriceTag } from "@/ui/money";

/** What it is and where, in one row. */
export function Facts({ it }: { it: Instance }) {
  const { t } = useText();
  const { data: specs } = useQuery(gpuSpecs);
  const spec = specs?.find((one) => one.id === it.gpu_spec.id);
  const service = it.service
    ? [it.service, it.version].filter(Boolean).join(" ")
    : (it.image?.reference ?? t("instances.ownImage"));
  return (
    <FactRow>
      {spec && (
        <Fact label={t("instance.gpu")}>
          {gpuTitle(spec)} · {t("instance.gb", { size: Math.round(spec.video_memory_mib / 1024) })}
        </Fact>
      )}
      <Fact label={t("instance.specification")}>
        <span className="font-mono text-xs leading-5">{it.gpu_spec.name}</span>
      </Fact>
      <Fact label={t("instance.datacenter")}>{it.datacenter ?? t("instances.anyPlace")}</Fact>
      <Fact label={t("instance.service")}>{service}</Fact>
      <Fact label={t("instance.price")}>
        <PriceTag perHour={it.price_per_hour} currency={it.currency} />
      </Fact>
      <StartedBy it={it} />
      <Fact label={t("instance.id")}>
        <span className="-my-1 flex items-center gap-0.5">
          <span className="font-mono text-xs" title={it.id}>
            {shortId(it.id)}
          </span>
          <CopyIconButton text={it.id} label={t("instance.copyId")} />
        </span>
      </Fact>
    </FactRow>
  );
}

function StartedBy({ it }: { it: Instance }) {
  const { t } = useText();
  const me = useMe();
  const { data: events } = useQuery(history(it.id));
  const { data: names } = useQuery({
    ...people(me.tenant_id as NonNullable<typeof me.tenant_id>),
    enabled: me.tenant_id !== null,
  });
  const nameOf = useActorName(names);
  const start = events?.find(
    ({ type }) => type === "instance.start_requested" || type === "instance.created",
  );
  const name = start && nameOf(start.actor);
  return name ? <Fact label={t("instance.startedBy")}>{name}</Fact> : null;
}
