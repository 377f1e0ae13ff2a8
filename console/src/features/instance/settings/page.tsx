import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { call } from "@/api/client";
import { updateInstance } from "@/api/generated/operations";
import type { Instance, InstanceChange, InstanceId } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { instance } from "@/api/instances/queries";
import { useAct, useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { whyNotNow } from "@/domain/instances/acts";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Panel, Row, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { IdleField } from "./idle";

const DeleteDialog = drawnLater(() => import("@/domain/instances/delete-dialog"));
const RenameDialog = drawnLater(() => import("../rename"));
const Machine = lazy(() => import("./machine"));

/** What can be changed: some at any time, the machine while it is stopped. */
export function SettingsPage({ id }: { id: InstanceId }) {
  const { t } = useText();
  const it = useLoaded(instance(id));
  const client = useQueryClient();
  const reason = useWhyNot("instances.write");
  const whyNot = reason || (it.managed_by ? t("instances.managed", { service: it.managed_by }) : false);
  const [renaming, setRenaming] = useState(false);
  const save = useAct((body: InstanceChange, key) => call(updateInstance, { path: { id }, body }, { key }), {
    onDone: (answer) => {
      putInstance(client, answer);
      notify({ title: t("instance.saved") });
    },
  });
  return (
    <div className="max-w-176">
      <Section title={t("instance.general")}>
        <Panel>
          <Row title={t("instances.name")} hint={it.name}>
            <Button disabled={whyNot} onClick={() => setRenaming(true)}>
              {t("instances.rename")}
            </Button>
          </Row>
          <IdleField
            key={String(it.idle_stop?.after_seconds)}
            it={it}
            disabled={whyNot}
            busy={save.busy}
            onSave={(idle_stop) => save.run({ idle_stop })}
          />
          <Row
            title={t("instance.nodeLoss")}
            hint={`${t(it.on_node_loss === "restart" ? "instance.lossRestart" : "instance.lossStop")} · ${t(it.on_node_loss === "restart" ? "instance.lossRestartHint" : "instance.lossStopHint")}`}
          >
            <Button
              disabled={whyNot}
              busy={save.busy}
              onClick={() => save.run({ on_node_loss: it.on_node_loss === "restart" ? "stop" : "restart" })}
            >
              {t(it.on_node_loss === "restart" ? "instance.stopInstead" : "instance.restartInstead")}
            </Button>
          </Row>
        </Panel>
        {save.error != null && <ErrorLine error={save.error} className="mt-3" />}
      </Section>
      <Suspense>
        <Machine key={`${it.gpu_spec.name} ${it.version}`} it={it} whyNot={whyNot} />
      </Suspense>
      <Delete it={it} />
      {renaming && <RenameDialog it={it} onClose={() => setRenaming(false)} />}
    </div>
  );
}

function Delete({ it }: { it: Instance }) {
  const { t } = useText();
  const me = useMe();
  const navigate = useNavigate();
  const [open, setOpen] = useState(false);
  return (
    <Section title={t("instances.delete")}>
      <Panel>
        <Row
          title={t("instance.deleteRow")}
          hint={t(it.state === "running" ? "instances.deleteRunning" : "instances.deleteLost")}
        >
          <Button disabled={whyNotNow(me, it, "delete", t)} onClick={() => setOpen(true)}>
            <span className="text-vermilion">{t("instances.deleteDots")}</span>
          </Button>
        </Row>
      </Panel>
      {open && (
        <DeleteDialog
          it={it}
          onClose={() => setOpen(false)}
          onDone={() => {
            notify({ title: t("instance.deleting", { name: it.name }) });
            void navigate({ to: "/instances" });
          }}
        />
      )}
    </Section>
  );
}
