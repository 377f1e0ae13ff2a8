import { useQuery } from "@tanstack/react-query";
import { Check, Plus } from "lucide-react";
import type { ReactNode } from "react";
import { gpuSpecs, services, storages } from "@/api/catalogue";
import { asCurl } from "@/api/client";
import { createInstance } from "@/api/generated/operations";
import { people } from "@/api/instances/details";
import { useTenant } from "@/app/needs-tenant";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { Button, ButtonLink } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Panel, Section } from "@/ui/page";

/** For a studio that has nothing yet: what to do first, and what it costs. */
export function FirstSteps() {
  const { t } = useText();
  const { money } = useFormat();
  const { data: specs } = useQuery(gpuSpecs);
  const { data: offered } = useQuery(services);
  const { data: kept } = useQuery(storages);
  const { data: names } = useQuery(people(useTenant()));
  const noStart = useWhyNot("instances.write");
  const noInvite = useWhyNot("members.invite");
  const noKey = useWhyNot("keys.write");
  const cheapest = specs?.toSorted((a, b) =>
    parseAmount(a.price_per_hour) < parseAmount(b.price_per_hour) ? -1 : 1,
  )[0];
  const service = offered?.find((it) => it.recommended);
  const start = (
    <>
      <Plus className="size-4" aria-hidden="true" />
      {t("instances.startOne")}
    </>
  );
  return (
    <Section title={t("overview.firstSteps")} hint={t("overview.firstStepsHint")}>
      <Panel>
        <ol>
          <Step
            title={t("overview.stepStart")}
            hint={
              cheapest
                ? t("overview.stepStartHint", {
                    price: t("ui.perHour", { price: money(cheapest.price_per_hour, cheapest.currency) }),
                  })
                : t("overview.stepStartPlain")
            }
          >
            {noStart ? (
              <Button kind="primary" disabled={noStart}>
                {start}
              </Button>
            ) : (
              <ButtonLink kind="primary" to="/instances/new">
                {start}
              </ButtonLink>
            )}
          </Step>
          <Step
            title={t("overview.stepInvite")}
            hint={t("overview.stepInviteHint")}
            isDone={(names?.size ?? 1) > 1}
          >
            {noInvite ? (
              <Button disabled={noInvite}>{t("members.invite")}</Button>
            ) : (
              <ButtonLink to="/members" search={{ open: "invite" }}>
                {t("members.invite")}
              </ButtonLink>
            )}
          </Step>
          <Step title={t("overview.stepKey")} hint={t("overview.stepKeyHint")}>
            {noKey ? (
              <Button disabled={noKey}>{t("keys.create")}</Button>
            ) : (
              <ButtonLink to="/api-keys" search={{ open: "create" }}>
                {t("keys.create")}
              </ButtonLink>
            )}
          </Step>
        </ol>
        {cheapest && service && !noStart && (
          <div className="border-line border-t px-4 py-3">
            <p className="mb-1 text-ink-3 text-xs">{t("instances.curlList")}</p>
            <CopyBox
              lines
              label={t("ui.copyAsCurl")}
              text={asCurl(createInstance, {
                body: { service: service.service, gpu_spec: cheapest.name },
              })}
            />
          </div>
        )}
      </Panel>
      {kept && kept.length > 0 && (
        <p className="mt-2 text-ink-3 text-xs">{t("overview.storagesThere", { count: kept.length })}</p>
      )}
    </Section>
  );
}

function Step({
  title,
  hint,
  isDone,
  children,
}: {
  title: string;
  hint: string;
  isDone?: boolean;
  children: ReactNode;
}) {
  const { t } = useText();
  return (
    <li className="flex min-h-16 flex-wrap items-center justify-between gap-x-4 gap-y-2 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">
        <h3 className="flex items-center gap-1.5 font-medium">
          {title}
          {isDone && (
            <span className="flex items-center gap-1 font-normal text-viridian text-xs">
              <Check className="size-3.5" aria-hidden="true" />
              {t("overview.stepDone")}
            </span>
          )}
        </h3>
        <p className="num text-ink-2 text-sm">{hint}</p>
      </div>
      {children}
    </li>
  );
}
