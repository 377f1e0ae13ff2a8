import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { cancelJob } from "@/api/generated/operations";
import type { Job, JobAttempt } from "@/api/generated/types";
import { askedAt, putJob } from "@/api/jobs/cache";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { isSome } from "@/lib/money";
import { ConfirmDialog } from "@/ui/dialog";
import { notify } from "@/ui/toast";
import { spentOf } from "./standing";

export default function StopDialog({
  it,
  attempts,
  onClose,
}: {
  it: Job;
  attempts: readonly JobAttempt[];
  onClose: () => void;
}) {
  const { t } = useText();
  const { money } = useFormat();
  const now = useNow();
  const client = useQueryClient();
  const stop = useAct((_: void, key) => call(cancelJob, { path: { id: it.id } }, { key }), {
    onDone: (changed) => {
      putJob(client, changed, askedAt());
      notify({ title: t("training.stopping") });
      onClose();
    },
  });
  const spent = spentOf(attempts, now);
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => stop.run()}
      busy={stop.busy}
      error={stop.error}
      title={t("training.stopTitle")}
      verb={t("training.stopVerb")}
    >
      {it.state === "queued" ? (
        <p>{t("training.stopWaits")}</p>
      ) : (
        <>
          <p>{t("training.stopLost")}</p>
          <p>
            {spent && isSome(spent.amount)
              ? t("training.stopCost", { price: money(spent.amount, spent.currency) })
              : t("training.stopFree")}
          </p>
        </>
      )}
    </ConfirmDialog>
  );
}
