import { useText } from "@/i18n";
import { TabLinks } from "@/ui/page";

export function UsageTabs() {
  const { t } = useText();
  return (
    <TabLinks
      label={t("usage.tabs")}
      tabs={[
        { label: t("usage.tabCost"), link: { to: "/usage" } },
        { label: t("usage.tabLimits"), link: { to: "/usage/limits" } },
      ]}
    />
  );
}
