import { useQuery } from "@tanstack/react-query";
import { storages } from "@/api/catalogue";
import type { Instance } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { type InstanceAction, useInstanceActs, whyNotNow } from "@/domain/instances/acts";
import { InstanceMenu } from "@/domain/instances/menu";
import { OpenLink } from "@/domain/instances/open-link";
import { isFailed } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { monthlyOf } from "@/lib/money";
import { Button } from "@/ui/button";
import { PriceTag } from "@/ui/money";

/** What the state suggests, with its price, and below what a stop leaves costing. */
export function HeadActions({
  it,
  onRename,
  onDelete,
}: {
  it: Instance;
  onRename: () => void;
  onDelete: () => void;
}) {
  const { t } = useText();
  const me = useMe();
  const act = useInstanceActs();
  const why = (action: InstanceAction) => whyNotNow(me, it, action, t);
  const isStopped = it.state === "stopped";
  return (
    <div className="max-md:w-full">
      <div className="flex flex-wrap justify-end gap-2 max-md:justify-start">
        <OpenLink it={it} primary />
        {it.ports.map((port) => port.title && <OpenLink key={port.port} it={it} port={port} />)}
        {isStopped && (
          <Button
            kind={isFailed(it) ? "plain" : "primary"}
            disabled={why("start")}
            onClick={() => act("start", it)}
          >
            <span>
              {t("instances.start")} · <PriceTag perHour={it.price_per_hour} currency={it.currency} />
            </span>
          </Button>
        )}
        {!isStopped && it.state !== "deleting" && (
          <Button disabled={why("stop")} onClick={() => act("stop", it)}>
            {t("instances.stop")}
          </Button>
        )}
        {it.state === "running" && (
          <Button disabled={why("restart")} onClick={() => act("restart", it)}>
            {t("instances.restart")}
          </Button>
        )}
        <InstanceMenu it={it} onDelete={onDelete} onRename={onRename} here />
      </div>
      <Leaves it={it} />
    </div>
  );
}

function Leaves({ it }: { it: Instance }) {
  const { t } = useText();
  const { total } = useFormat();
  const { data } = useQuery(storages);
  const ids = new Set(it.storages.map((one) => one.storage_id));
  const kept = data?.filter((storage) => ids.has(storage.id));
  if (ids.size > 0 && !kept) return null;
  const price = kept && kept.length > 0 ? total(monthlyOf(kept)) : null;
  const words =
    it.state === "stopped"
      ? price && t("instance.storageCosts", { price })
      : it.state === "running" &&
        (price ? t("instance.afterStop", { price }) : t("instance.afterStopNothing"));
  return words && <p className="num mt-1 text-right text-ink-3 text-xs max-md:text-left">{words}</p>;
}
