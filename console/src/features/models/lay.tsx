import { useQuery } from "@tanstack/react-query";
import { storages } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { createDeployment } from "@/api/generated/operations";
import type { Model, NewDeployment, Storage } from "@/api/generated/types";
import { deployments } from "@/api/models";
import { useAct } from "@/api/query";
import { defaultPath } from "@/domain/models/files";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";

interface Values {
  storage_id: string;
  path: string;
}

const isPath = (path: string) =>
  path === "" ||
  (/[^/]\.safetensors$/.test(path) && path.split("/").every((name) => !/^\.{0,2}$/.test(name)));

const isVolume = ({ kind, state }: Storage) =>
  kind === "volume" && state !== "deleting" && state !== "failed";

export default function LayDialog({ it, onClose }: { it: Model; onClose: () => void }) {
  const { t } = useText();
  const { bytes } = useFormat();
  const { data } = useQuery(storages);
  const volumes = (data ?? []).filter(isVolume);
  const lay = useAct(
    (body: NewDeployment, key) => call(createDeployment, { path: { id: it.id }, body }, { key }),
    {
      touches: [deployments(it.id).queryKey],
      onDone: ({ storage_id }) => {
        onClose();
        notify({ title: t("models.laying", { name: it.name, storage: nameOf(storage_id) }) });
      },
    },
  );
  const nameOf = (id: string) => volumes.find((one) => one.id === id)?.name ?? "";
  const bodyOf = ({ storage_id, path }: Values): NewDeployment | null => {
    const volume = volumes.find((one) => one.id === storage_id) ?? volumes[0];
    return volume ? { storage_id: volume.id, ...(path.trim() && { path: path.trim() }) } : null;
  };
  const form = useForm<Values>({
    initial: { storage_id: "", path: "" },
    check: (values) => ({
      storage_id: bodyOf(values) ? undefined : t("models.volumeMissing"),
      path: isPath(values.path.trim()) ? undefined : t("models.pathWrong"),
    }),
    send: (values) => {
      const body = bodyOf(values);
      if (body) lay.run(body);
    },
    error: lay.error,
  });
  const body = bodyOf(form.values);
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("models.layTitle", { name: it.name })}
      description={t("models.layHint", { size: bytes(it.bytes) })}
      footer={
        <>
          {body && <CopyCurl command={asCurl(createDeployment, { path: { id: it.id }, body })} />}
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button
            kind="primary"
            type="submit"
            busy={lay.busy}
            disabled={data && !body && t("models.volumeNone")}
          >
            {t("models.laySubmit")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        {data && volumes.length === 0 ? (
          <p className="text-ink-2 text-sm">{t("models.volumeNone")}</p>
        ) : (
          <SelectField
            label={t("models.volume")}
            error={form.errors.storage_id}
            value={body?.storage_id ?? ""}
            onChange={(next) => form.set("storage_id", next)}
            choices={volumes.map((one) => ({
              value: one.id as string,
              label: one.name,
              hint: [
                t("models.volumeChoice", { place: one.datacenter ?? "–", size: one.size_gib }),
                ...(one.attachments.length > 0
                  ? [t("models.volumeMounted", { count: one.attachments.length })]
                  : []),
              ].join(", "),
            }))}
          />
        )}
        <TextField
          {...form.text("path")}
          label={t("models.path")}
          hint={t("models.pathHint", { path: defaultPath(it) })}
          autoComplete="off"
          spellCheck={false}
        />
        {lay.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={lay.error} />}
      </div>
    </Dialog>
  );
}
