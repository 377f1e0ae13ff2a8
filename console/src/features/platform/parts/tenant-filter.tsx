import type { TenantId } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Select } from "@/ui/select";
import { useTenantChoices, useTenantName } from "./names";

/** One tenant, or all. */
export function TenantFilter({
  value,
  onChange,
}: {
  value: TenantId | undefined;
  onChange: (tenant: TenantId | undefined) => void;
}) {
  const { t } = useText();
  const choices = useTenantChoices();
  const name = useTenantName();
  const known = choices.some((it) => it.value === value);
  return (
    <span className="w-52 max-md:w-full">
      <Select<TenantId | "">
        label={t("platform.filterTenant")}
        value={value ?? ""}
        onChange={(next) => onChange(next || undefined)}
        choices={[
          { value: "", label: t("platform.allTenants") },
          ...(value && !known ? [{ value, label: name(value) }] : []),
          ...choices,
        ]}
      />
    </span>
  );
}
