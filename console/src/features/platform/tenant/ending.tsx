import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import type { Tenant, TenantStep } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { Ring } from "@/ui/state";
import { notify } from "@/ui/toast";
import { useKindText } from "../parts/remaining-text";
import { isCarriedOut } from "../parts/tenant-standing";
import { deletion, tenant } from "./queries";

const route = getRouteApi("/_app/admin/tenants/$id");

/** How far each service has carried out a suspension or a deletion. */
export function Ending({ it }: { it: Tenant }) {
  const { t } = useText();
  const { time, relative } = useFormat();
  const now = useNow();
  useGone(it);
  if (it.state === "active" || it.steps.length === 0) return null;
  if (it.state === "suspended" && isCarriedOut(it)) return null;
  return (
    <div className="mb-6">
      <Section
        title={it.state === "deleting" ? t("tenants.deletingTitle") : t("tenants.suspendingTitle")}
        hint={
          it.delete_storages_at &&
          (Date.parse(it.delete_storages_at) > now
            ? t("tenants.storagesAt", {
                time: time(it.delete_storages_at),
                relative: relative(it.delete_storages_at, now),
              })
            : t("tenants.storagesNow"))
        }
      >
        <Panel>
          <ol aria-label={t("tenants.steps")} aria-live="polite">
            {it.steps.map((step) => (
              <Step key={step.service} step={step} />
            ))}
          </ol>
        </Panel>
      </Section>
    </div>
  );
}

function Step({ step }: { step: TenantStep }) {
  const { t } = useText();
  const { list } = useFormat();
  const kindText = useKindText();
  const services: Record<string, string> = {
    gpu: t("tenants.stepGpu"),
    jobs: t("tenants.stepJobs"),
    storage: t("tenants.stepStorage"),
  };
  const left = Object.entries(step.remaining).map(([kind, count]) => kindText(kind, count));
  return (
    <li className="grid grid-cols-[minmax(0,14rem)_minmax(0,1fr)] items-center gap-x-4 gap-y-1 border-line border-b px-4 py-2 text-sm last:border-b-0">
      <span className="flex items-center gap-2.5">
        <Ring mark={step.done ? "runs" : step.message ? "failed" : "moves"} />
        {services[step.service] ?? step.service}
      </span>
      <span className="num text-ink-2">
        {step.done ? t("tenants.stepDone") : left.length > 0 ? t("platform.left", { what: list(left) }) : ""}
        {step.message && <span className="text-vermilion"> {step.message}</span>}
      </span>
    </li>
  );
}

/** When nothing is left of the tenant, its page leads back to the list. */
function useGone(it: Tenant) {
  const { t } = useText();
  const { operation } = route.useSearch();
  const navigate = route.useNavigate();
  const { error } = useQuery(tenant(it.id));
  const { data } = useQuery(deletion(operation));
  const isGone =
    data?.state === "succeeded" ||
    (it.state === "deleting" && error instanceof ApiError && error.status === 404);
  const leave = useEffectEvent(() => {
    notify({ title: t("tenants.gone", { name: it.name }) });
    void navigate({ to: "/admin/tenants", search: {}, replace: true });
  });
  useEffect(() => {
    if (isGone) leave();
  }, [isGone]);
}
