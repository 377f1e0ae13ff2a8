import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createPlatformWorker } from "@/api/generated/operations";
import type { CreatedWorker, NewWorker, Pool } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyBox, CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { ShownOnce } from "@/ui/shown-once";

const isName = (text: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);

/** A process beside the platform: it registers with the token that is shown once. */
export function RegisterDialog({ pool, onClose }: { pool: Pool; onClose: () => void }) {
  const { t } = useText();
  const [made, setMade] = useState<CreatedWorker | null>(null);
  const create = useAct(
    (body: NewWorker, key) => call(createPlatformWorker, { path: { id: pool.id }, body }, { key }),
    { touches: [["platform", "pools"]], onDone: setMade },
  );
  const bodyOf = (draft: NewWorker): NewWorker => ({
    name: draft.name.trim(),
    gpu_spec: draft.gpu_spec,
    node: draft.node.trim(),
  });
  const form = useForm<NewWorker>({
    initial: { name: "", gpu_spec: pool.gpu_specs[0] ?? "", node: "" },
    check: (draft) => ({
      name: isName(draft.name.trim()) ? undefined : t("pools.nameWrong"),
      node: draft.node.trim() ? undefined : t("pools.nodeMissing"),
    }),
    send: (draft) => create.run(bodyOf(draft)),
    error: create.error,
  });
  if (made) return <Registered worker={made} onClose={onClose} />;
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("pools.register")}
      description={t("pools.registerHint")}
      footer={
        <>
          <CopyCurl
            command={asCurl(createPlatformWorker, { path: { id: pool.id }, body: bodyOf(form.values) })}
          />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("pools.registerVerb")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <TextField
          {...form.text("name")}
          label={t("platform.name")}
          hint={t("pools.workerNameHint")}
          autoComplete="off"
          spellCheck={false}
        />
        <SelectField
          name="gpu_spec"
          label={t("platform.specification")}
          error={form.errors.gpu_spec}
          value={form.values.gpu_spec}
          onChange={(next) => form.set("gpu_spec", next)}
          choices={pool.gpu_specs.map((value) => ({ value, label: value }))}
        />
        <TextField
          {...form.text("node")}
          label={t("platform.node")}
          hint={t("pools.nodeHint")}
          autoComplete="off"
          spellCheck={false}
        />
        {create.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={create.error} />}
      </div>
    </Dialog>
  );
}

/** The token, and the process that it is for. */
function Registered({ worker, onClose }: { worker: CreatedWorker; onClose: () => void }) {
  const { t } = useText();
  const token = worker.token ?? "";
  const command = [
    "ATELIER_JOBS_URL=http://jobs.example:8090 \\",
    `ATELIER_WORKER_TOKEN=${token} \\`,
    "atelier-runner --engine-url http://127.0.0.1:7860",
  ].join("\n");
  return (
    <ShownOnce open onClose={onClose} title={t("pools.tokenOf", { name: worker.name })}>
      <CopyBox text={token} label={t("pools.copyToken")} />
      <p className="mt-4 mb-1 font-medium text-sm">{t("pools.startIt")}</p>
      <CopyBox lines text={command} label={t("pools.copyCommand")} />
      <p className="mt-2 text-ink-3 text-xs">{t("pools.startHint")}</p>
    </ShownOnce>
  );
}
