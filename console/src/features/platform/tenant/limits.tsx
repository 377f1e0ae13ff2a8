import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { gpuSpecs } from "@/api/catalogue";
import type { Tenant } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { gpuTitle } from "@/domain/instances/gpu";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { parseAmount, toDecimal } from "@/lib/money";
import { Button } from "@/ui/button";
import { ActionMenu } from "@/ui/menu";
import { Section } from "@/ui/page";
import { BudgetPanel } from "./budget-panel";
import { inUseOf, storageInUseOf } from "./in-use";
import type { LimitKind } from "./limit-kind";
import { LimitRows } from "./limit-rows";
import { PoolSharesOf } from "./pool-shares";
import { budget, quota, storageQuota, tenant, tenantInstances, tenantStorages } from "./queries";

const QuotaDialog = lazy(() => import("./quota-dialog"));
const StorageQuotaDialog = lazy(() => import("./storage-quota-dialog"));
const BudgetDialog = lazy(() => import("./budget-dialog"));
const RemoveLimitsDialog = lazy(() => import("./remove-limits"));

const route = getRouteApi("/_app/admin/tenants/$id");

type Open = { change: LimitKind } | { remove: LimitKind } | null;

export function TenantLimits() {
  const { t } = useText();
  const { id } = route.useParams();
  const it = useLoaded(tenant(id));
  const [open, setOpen] = useState<Open>(null);
  const close = () => setOpen(null);
  return (
    <div className="grid items-start gap-x-6 lg:grid-cols-2">
      <div>
        <Quota it={it} onOpen={setOpen} />
        <StorageQuota it={it} onOpen={setOpen} />
      </div>
      <div className="max-lg:mt-6">
        <Money it={it} onOpen={setOpen} />
        <Section title={t("tenants.poolShares")} hint={t("tenants.poolSharesHint")}>
          <PoolSharesOf tenantId={it.id} />
        </Section>
      </div>
      <Suspense>
        {open && "change" in open && open.change === "quota" && <QuotaDialog it={it} onClose={close} />}
        {open && "change" in open && open.change === "storage" && (
          <StorageQuotaDialog it={it} onClose={close} />
        )}
        {open && "change" in open && open.change === "budget" && <BudgetDialog it={it} onClose={close} />}
        {open && "remove" in open && <RemoveLimitsDialog it={it} kind={open.remove} onClose={close} />}
      </Suspense>
    </div>
  );
}

interface Part {
  it: Tenant;
  onOpen: (open: Open) => void;
}

function Change({
  kind,
  isSet,
  onOpen,
  label,
  title,
}: Pick<Part, "onOpen"> & { kind: LimitKind; isSet: boolean; label: string; title: string }) {
  const { t } = useText();
  return (
    <span className="flex items-center gap-1">
      <Button small aria-label={label} onClick={() => onOpen({ change: kind })}>
        {isSet ? t("platform.changeDots") : t("platform.setDots")}
      </Button>
      {isSet && (
        <ActionMenu
          label={t("platform.moreFor", { name: title })}
          entries={[
            {
              key: "remove",
              label: t("tenants.removeLimits"),
              danger: true,
              onSelect: () => onOpen({ remove: kind }),
            },
          ]}
        />
      )}
    </span>
  );
}

function Quota({ it, onOpen }: Part) {
  const { t } = useText();
  const { total, money } = useFormat();
  const set = useLoaded(quota(it.id));
  const { data: instances } = useQuery(tenantInstances(it.id));
  const { data: specs } = useQuery(gpuSpecs);
  const use = instances && specs ? inUseOf(instances, specs) : undefined;
  const limits = set?.limits;
  const models = Object.entries(limits?.gpus_by_model ?? {});
  const costs = Object.entries(limits?.cost_per_hour ?? {});
  return (
    <Section
      title={t("tenants.quota")}
      hint={set ? undefined : t("tenants.quotaNone")}
      actions={
        <Change
          kind="quota"
          isSet={set !== null}
          onOpen={onOpen}
          label={t("tenants.changeQuota")}
          title={t("tenants.quota")}
        />
      }
    >
      <LimitRows
        label={t("tenants.quota")}
        isWhole={use?.isWhole ?? true}
        rows={[
          { label: t("tenants.limitInstances"), limit: limits?.instances ?? null, used: use?.instances },
          { label: t("tenants.limitGpus"), limit: limits?.gpus ?? null, used: use?.gpus },
          ...models.map(([model, limit]) => ({
            label: gpuTitle({ gpu_model: model, gpu_count: 1 }),
            limit,
            used: use && (use.byModel.get(model) ?? 0),
          })),
          ...(costs.length > 0
            ? costs.map(([currency, limit]) => ({
                label: t("tenants.limitCost"),
                limit: Number(limit),
                used: use && Number(toDecimal(use.rate.get(currency) ?? parseAmount("0"))),
                write: (value: number) => money(String(value), currency),
              }))
            : [
                {
                  label: t("tenants.limitCost"),
                  text: t("tenants.costNoLimit", {
                    used: use && use.rate.size > 0 ? total(use.rate) : money("0", "USD"),
                  }),
                },
              ]),
          {
            label: t("tenants.ownImages"),
            text: limits?.own_images ? t("tenants.allowed") : t("tenants.notAllowed"),
          },
        ]}
      />
    </Section>
  );
}

function StorageQuota({ it, onOpen }: Part) {
  const { t } = useText();
  const set = useLoaded(storageQuota(it.id));
  const { data: storages } = useQuery(tenantStorages(it.id));
  const use = storages && storageInUseOf(storages);
  return (
    <Section
      title={t("tenants.storageQuota")}
      hint={set ? undefined : t("tenants.storageQuotaNone")}
      actions={
        <Change
          kind="storage"
          isSet={set !== null}
          onOpen={onOpen}
          label={t("tenants.changeStorageQuota")}
          title={t("tenants.storageQuota")}
        />
      }
    >
      <LimitRows
        label={t("tenants.storageQuota")}
        isWhole={use?.isWhole ?? true}
        noLimit={t("tenants.asForAll")}
        rows={[
          { label: t("tenants.limitStorages"), limit: set?.limits.storages ?? null, used: use?.storages },
          { label: t("tenants.limitGib"), limit: set?.limits.gib ?? null, used: use?.gib },
        ]}
      />
    </Section>
  );
}

function Money({ it, onOpen }: Part) {
  const { t } = useText();
  const set = useLoaded(budget(it.id));
  return (
    <Section
      title={t("tenants.budget")}
      hint={set ? undefined : t("tenants.budgetNone")}
      actions={
        <Change
          kind="budget"
          isSet={set !== null}
          onOpen={onOpen}
          label={t("tenants.changeBudget")}
          title={t("tenants.budget")}
        />
      }
    >
      {set && <BudgetPanel it={it} terms={set.terms} />}
    </Section>
  );
}
