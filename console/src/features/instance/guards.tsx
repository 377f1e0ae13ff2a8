import { useQueryClient } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { call } from "@/api/client";
import { postponeInstanceIdleStop } from "@/api/generated/operations";
import type { Instance } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { useAct } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Panel, Section } from "@/ui/page";
import { useLength } from "./length";

/** Idle stop, and what happens when the node is lost. */
export function Guards({ it }: { it: Instance }) {
  const { t } = useText();
  const lengthOf = useLength();
  const client = useQueryClient();
  const reason = useWhyNot("instances.write");
  const postpone = useAct(
    (_: void, key) => call(postponeInstanceIdleStop, { path: { id: it.id } }, { key }),
    {
      onDone: (answer) => putInstance(client, answer),
    },
  );
  const idle = it.idle_stop;
  return (
    <Section title={t("instance.guards")}>
      <Panel className="grid md:grid-cols-2">
        <Guard
          label={t("instance.idleStop")}
          value={
            idle ? t("instance.idleAfter", { length: lengthOf(idle.after_seconds) }) : t("instance.notSet")
          }
        >
          {idle ? <Idle it={it} idle={idle} /> : t("instance.idleNotSetHint")}
          {idle?.stop_at && (
            <span className="mt-2 block">
              <Button small busy={postpone.busy} disabled={reason} onClick={() => postpone.run()}>
                {t("instance.postpone")}
              </Button>
            </span>
          )}
        </Guard>
        <Guard
          label={t("instance.nodeLoss")}
          value={t(it.on_node_loss === "restart" ? "instance.lossRestart" : "instance.lossStop")}
        >
          {t(it.on_node_loss === "restart" ? "instance.lossRestartHint" : "instance.lossStopHint")}
        </Guard>
      </Panel>
      {postpone.error != null && <ErrorLine error={postpone.error} className="mt-3" />}
    </Section>
  );
}

function Idle({ it, idle }: { it: Instance; idle: NonNullable<Instance["idle_stop"]> }) {
  const { t } = useText();
  const { clock, duration } = useFormat();
  const now = useNow();
  if (idle.stop_at)
    return (
      <span className="font-medium text-ochre">{t("instance.idleStops", { when: clock(idle.stop_at) })}</span>
    );
  if (idle.idle_since)
    return <>{t("instance.idleFor", { duration: duration((now - Date.parse(idle.idle_since)) / 1000) })}</>;
  return (
    <>
      {t(it.state === "running" ? "instance.idleNot" : "instance.idleWhile", {
        gpu: idle.gpu_below_percent,
        cpu: idle.cpu_below_percent,
      })}
    </>
  );
}

function Guard({ label, value, children }: { label: string; value: string; children: ReactNode }) {
  return (
    <div className="num border-line px-4 py-3 max-md:[&+&]:border-t md:[&+&]:border-l">
      <p className="text-ink-3 text-xs">{label}</p>
      <p className="mt-0.5 text-sm">{value}</p>
      <div className="text-ink-3 text-xs">{children}</div>
    </div>
  );
}
