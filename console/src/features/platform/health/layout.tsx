import { Outlet } from "@tanstack/react-router";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { PageHead, TabLinks } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { health } from "./queries";
import { healthStanding } from "./standing";

export function HealthLayout() {
  const { t } = useText();
  const { seconds } = useFormat();
  const { state, modules, checked_at } = useLoaded(health);
  const broken = modules.filter((it) => it.state !== "ok");
  const { mark, word } = healthStanding[state];
  return (
    <>
      <PageHead title={t("health.title")} mark={<StateMark mark={mark}>{t(word)}</StateMark>}>
        {broken.length === 0
          ? t("health.summary", { count: modules.length, time: seconds(checked_at) })
          : t("health.summaryBroken", {
              count: modules.length,
              names: broken.map((it) => it.name).join(t("platform.comma")),
              time: seconds(checked_at),
            })}
      </PageHead>
      <TabLinks
        label={t("health.parts")}
        tabs={[
          { label: t("health.modules"), link: { to: "/admin/health" } },
          { label: t("health.logs"), link: { to: "/admin/health/logs" } },
          { label: t("health.keys"), link: { to: "/admin/health/keys" } },
        ]}
      />
      <Outlet />
    </>
  );
}
