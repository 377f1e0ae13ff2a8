import { call } from "@/api/client";
import { deletePlatformWorker } from "@/api/generated/operations";
import type { Worker } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { notify } from "@/ui/toast";

/** One that the platform runs is drained; the token of a registered one is refused at once. */
export function RemoveWorkerDialog({ worker, onClose }: { worker: Worker; onClose: () => void }) {
  const { t } = useText();
  const { id, pool_id, name, stage, job_id } = worker;
  const isRegistered = stage === null;
  const remove = useAct(
    (_: void, key) => call(deletePlatformWorker, { path: { id: pool_id, worker_id: id } }, { key }),
    {
      touches: [["platform", "pools"]],
      onDone: () => {
        notify({
          title: t(isRegistered ? "pools.workerDeleted" : "pools.workerDrained", { name }),
        });
        onClose();
      },
    },
  );
  return (
    <ConfirmDialog
      open
      harmless={!isRegistered}
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t(isRegistered ? "pools.deleteWorkerTitle" : "pools.drainTitle", { name })}
      verb={t(isRegistered ? "pools.deleteWorkerVerb" : "pools.drainVerb")}
    >
      {isRegistered ? (
        <p>{t("pools.deleteWorkerHint")}</p>
      ) : (
        <>
          <p>{t(job_id ? "pools.drainBusy" : "pools.drainIdle")}</p>
          <p>{t("pools.drainReplaced")}</p>
        </>
      )}
    </ConfirmDialog>
  );
}
