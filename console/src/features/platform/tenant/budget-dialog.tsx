import { useQuery } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import { putPlatformBudget } from "@/api/generated/operations";
import type { BudgetAction, BudgetTerms, Tenant } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { parseAmount } from "@/lib/money";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";
import { BelowHint, LimitForm } from "./limit-form";
import { budget, usage } from "./queries";

interface Values {
  amount: string;
  currency: string;
  warns: string;
  atLimit: BudgetAction;
  reason: string;
}

const isAmount = (text: string) => /^\d+(\.\d{1,6})?$/.test(text.trim());
const percentsOf = (text: string) =>
  text
    .split(/[\s,，、]+/)
    .filter(Boolean)
    .map(Number);

const bodyOf = ({ amount, currency, warns, atLimit }: Values): BudgetTerms => ({
  amount: amount.trim(),
  currency: currency.trim().toUpperCase(),
  warn_percents: percentsOf(warns),
  at_limit: atLimit,
});

export default function BudgetDialog({ it, onClose }: { it: Tenant; onClose: () => void }) {
  const { t } = useText();
  const { money } = useFormat();
  const set = useLoaded(budget(it.id));
  const { data: spent } = useQuery(usage(it.id, "tenant"));
  const requestOf = (values: Values) => ({
    path: { tenant_id: it.id },
    query: { reason: values.reason.trim() },
    ...(set === null && { headers: { "If-Match": "*" } }),
    body: bodyOf(values),
  });
  const put = useAct((values: Values, key) => call(putPlatformBudget, requestOf(values), { key }), {
    touches: [["platform", "budgets"]],
    onDone: () => {
      onClose();
      notify({ title: t("tenants.limitsSaved", { name: it.name }) });
    },
  });
  const form = useForm<Values>({
    initial: {
      amount: set?.terms.amount ?? "",
      currency: set?.terms.currency ?? "USD",
      warns: (set?.terms.warn_percents ?? [80]).join(", "),
      atLimit: set?.terms.at_limit ?? "stop",
      reason: "",
    },
    check: (values) => ({
      amount: isAmount(values.amount) ? undefined : t("tenants.notAnAmount"),
      currency: /^[a-z]{3}$/i.test(values.currency.trim()) ? undefined : t("tenants.notACurrency"),
      warns: percentsOf(values.warns).every((one) => Number.isInteger(one) && one > 0 && one < 100)
        ? undefined
        : t("tenants.notPercents"),
      reason: values.reason.trim() ? undefined : t("platform.reasonMissing"),
    }),
    send: put.run,
    error: put.error,
  });
  const { amount, currency, atLimit } = form.values;
  const already = spent?.items.find((one) => one.currency === currency.trim().toUpperCase())?.amount ?? "0";
  const isSpent = isAmount(amount) && parseAmount(amount.trim()) <= parseAmount(already);
  const spentText = money(already, set?.terms.currency ?? "USD");
  return (
    <LimitForm
      title={t("tenants.budgetOf", { name: it.name })}
      form={form}
      busy={put.busy}
      error={put.error}
      curl={asCurl(putPlatformBudget, requestOf(form.values))}
      onClose={onClose}
    >
      <p className="text-ink-2 text-sm">{t("tenants.budgetHint")}</p>
      <div className="grid grid-cols-[minmax(0,1fr)_6rem] gap-4">
        <TextField
          {...form.text("amount")}
          label={t("tenants.aMonth")}
          hint={
            isSpent ? (
              <BelowHint is>
                {atLimit === "stop"
                  ? t("tenants.spentStops", { spent: spentText })
                  : t("tenants.spentNotifies", { spent: spentText })}
              </BelowHint>
            ) : (
              t("tenants.spentNow", { spent: spentText })
            )
          }
          inputMode="decimal"
        />
        <TextField {...form.text("currency")} label={t("tenants.currency")} maxLength={3} />
      </div>
      <TextField {...form.text("warns")} label={t("tenants.warnsAtPercent")} hint={t("tenants.warnsHint")} />
      <SelectField
        label={t("tenants.atLimit")}
        value={atLimit}
        onChange={(next) => form.set("atLimit", next)}
        choices={[
          { value: "stop", label: t("tenants.atLimitStop"), hint: t("tenants.atLimitStopHint") },
          { value: "notify", label: t("tenants.atLimitNotify"), hint: t("tenants.atLimitNotifyHint") },
        ]}
      />
    </LimitForm>
  );
}
