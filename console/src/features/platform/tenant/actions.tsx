import { getRouteApi } from "@tanstack/react-router";
import type { Tenant } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { ActionMenu } from "@/ui/menu";
import type { TenantDialog } from "./dialog-names";

const route = getRouteApi("/_app/admin/tenants/$id");

/** What is open has an address, on each of the tenant's tabs. */
export function useTenantDialog() {
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const show = (dialog: TenantDialog | undefined) =>
    void navigate({ to: ".", search: (now) => ({ ...now, open: dialog }), replace: true });
  return { open, show };
}

export function TenantActions({ it }: { it: Tenant }) {
  const { t } = useText();
  const { show } = useTenantDialog();
  return (
    <>
      {it.state === "active" && <Button onClick={() => show("suspend")}>{t("tenants.suspendDots")}</Button>}
      {it.state === "suspended" && (
        <Button kind="primary" onClick={() => show("reactivate")}>
          {t("tenants.reactivateDots")}
        </Button>
      )}
      {it.state === "deleting" && (
        <Button onClick={() => show("reactivate")}>{t("tenants.takeBackDots")}</Button>
      )}
      <ActionMenu
        label={t("platform.actionsFor", { name: it.name })}
        entries={[
          { key: "rename", label: t("tenants.renameDots"), onSelect: () => show("rename") },
          "line",
          {
            key: "delete",
            label: it.state === "deleting" ? t("tenants.deleteTimeDots") : t("tenants.deleteDots"),
            danger: true,
            disabled: it.state === "active" && t("tenants.suspendFirst"),
            onSelect: () => show("delete"),
          },
        ]}
      />
    </>
  );
}
