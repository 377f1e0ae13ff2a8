import { call } from "@/api/client";
import { createDeployment, deleteDeployment } from "@/api/generated/operations";
import type { Deployment, Model } from "@/api/generated/types";
import { deployments } from "@/api/models";
import { useAct } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";

export function DeploymentMenu({ it, one, storage }: { it: Model; one: Deployment; storage: string }) {
  const { t } = useText();
  const reason = useWhyNot("jobs.write");
  const isPending = one.state === "pending";
  const touches = [deployments(it.id).queryKey];
  const onFailed = (error: Error) => notify({ failed: true, title: storage, detail: describe(error, t) });
  const forget = useAct(
    (_: void, key) => call(deleteDeployment, { path: { id: it.id, deployment_id: one.id } }, { key }),
    {
      touches,
      onFailed,
      onDone: () =>
        notify(
          isPending
            ? { title: t("models.stopped", { name: it.name, storage }) }
            : {
                title: t("models.forgotten"),
                ...(one.state === "deployed" && { detail: t("models.forgottenHint", { storage }) }),
              },
        ),
    },
  );
  const again = useAct(
    (_: void, key) =>
      call(
        createDeployment,
        { path: { id: it.id }, body: { storage_id: one.storage_id, path: one.path } },
        { key },
      ),
    {
      touches,
      onFailed,
      onDone: () => notify({ title: t("models.laying", { name: it.name, storage }) }),
    },
  );
  return (
    <ActionMenu
      label={t("models.layActions", { path: one.path, storage })}
      entries={[
        ...(one.state === "failed"
          ? [{ key: "again", label: t("models.again"), disabled: reason, onSelect: () => again.run() }]
          : []),
        {
          key: "forget",
          label: isPending ? t("models.stop") : t("models.forget"),
          note: isPending ? t("models.stopNote") : t("models.forgetNote"),
          disabled: reason,
          onSelect: () => forget.run(),
        },
      ]}
    />
  );
}
