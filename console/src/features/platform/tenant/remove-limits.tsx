import { asCurl, call } from "@/api/client";
import {
  deletePlatformBudget,
  deletePlatformQuota,
  deletePlatformStorageQuota,
} from "@/api/generated/operations";
import type { Tenant } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { notify } from "@/ui/toast";
import { ReasonDialog } from "../parts/reason-dialog";
import type { LimitKind } from "./limit-kind";

const operations = {
  quota: deletePlatformQuota,
  storage: deletePlatformStorageQuota,
  budget: deletePlatformBudget,
};
const keys = { quota: "quotas", storage: "storage-quotas", budget: "budgets" };

export default function RemoveLimitsDialog({
  it,
  kind,
  onClose,
}: {
  it: Tenant;
  kind: LimitKind;
  onClose: () => void;
}) {
  const { t } = useText();
  const requestOf = (reason: string) => ({ path: { tenant_id: it.id }, query: { reason } });
  const remove = useAct((reason: string, key) => call(operations[kind], requestOf(reason), { key }), {
    touches: [["platform", keys[kind]]],
    onDone: () => {
      onClose();
      notify({ title: t("tenants.limitsRemoved", { name: it.name }) });
    },
  });
  const words = {
    quota: [t("tenants.removeQuota", { name: it.name }), t("tenants.removeQuotaHint")],
    storage: [t("tenants.removeStorageQuota", { name: it.name }), t("tenants.removeStorageQuotaHint")],
    budget: [t("tenants.removeBudget", { name: it.name }), t("tenants.removeBudgetHint")],
  };
  const [title = "", hint] = words[kind];
  return (
    <ReasonDialog
      title={title}
      verb={t("tenants.removeVerb")}
      hint={t("platform.reasonRecorded")}
      act={remove}
      curl={(reason) => asCurl(operations[kind], requestOf(reason))}
      onClose={onClose}
    >
      <p>{hint}</p>
    </ReasonDialog>
  );
}
