import { lazy, Suspense } from "react";
import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useStore } from "@/lib/store";
import { Empty, Panel } from "@/ui/page";
import { keptTerminals } from "./kept";

const TerminalScreen = lazy(() => import("./screen"));

export function TerminalPage({ id }: { id: InstanceId }) {
  const { t } = useText();
  const it = useLoaded(instance(id));
  const reason = useWhyNot("instances.write");
  const isKept = useStore(keptTerminals).has(id);
  if (reason || it.managed_by)
    return (
      <Panel>
        <Empty title={t("instance.noTerminal")}>
          {reason || t("instances.managed", { service: it.managed_by ?? "" })}
        </Empty>
      </Panel>
    );
  // what was on the screen stays readable after a stop
  if (it.state !== "running" && !isKept)
    return (
      <Panel>
        <Empty title={t("instance.terminalAsleep")}>{t("instance.terminalAsleepHint")}</Empty>
      </Panel>
    );
  return (
    <Suspense fallback={<div className="h-[max(20rem,calc(100dvh-20rem))] rounded-lg bg-[#171614]" />}>
      <TerminalScreen it={it} />
    </Suspense>
  );
}
