import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { gpuSpecs, services } from "@/api/catalogue";
import { asCurl } from "@/api/client";
import { createInstance } from "@/api/generated/operations";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Empty } from "@/ui/page";

export function NoInstances({ reason }: { reason: string | false }) {
  const { t } = useText();
  const start = (
    <>
      <Plus className="size-4" aria-hidden="true" />
      {t("instances.startOne")}
    </>
  );
  return (
    <>
      <Empty
        title={t("instances.emptyTitle")}
        actions={
          reason ? (
            <Button disabled={reason}>{start}</Button>
          ) : (
            <ButtonLink to="/instances/new">{start}</ButtonLink>
          )
        }
      >
        {t("instances.emptyHint")}
      </Empty>
      {!reason && <FromTerminal />}
    </>
  );
}

/** The first start as a command, of what is there to be started. */
function FromTerminal() {
  const { t } = useText();
  const { data: specs } = useQuery(gpuSpecs);
  const { data: catalogue } = useQuery(services);
  const service = catalogue?.find((it) => it.recommended) ?? catalogue?.[0];
  const spec = specs?.toSorted((a, b) => Number(a.price_per_hour) - Number(b.price_per_hour))[0];
  if (!service || !spec) return null;
  const command = asCurl(createInstance, { body: { service: service.service, gpu_spec: spec.name } });
  return (
    <div className="mx-auto max-w-136 px-4 pb-8">
      <p className="mb-1 text-ink-3 text-xs">{t("instances.curlList")}</p>
      <CopyBox lines text={command} label={t("ui.copyAsCurl")} />
    </div>
  );
}

export function NoneFound() {
  const { t } = useText();
  return (
    <Empty
      title={t("instances.noneFound")}
      actions={
        <Link to="/instances" className="text-sm text-ultra hover:underline">
          {t("instances.clear")}
        </Link>
      }
    >
      {t("instances.noneFoundHint")}
    </Empty>
  );
}
