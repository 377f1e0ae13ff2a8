import { useNavigate } from "@tanstack/react-router";
import { datacenters } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { createDatacenter } from "@/api/generated/operations";
import type { NewDatacenter } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { labelsOf } from "@/domain/catalogue/labels";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { notify } from "@/ui/toast";
import { DatacenterFields, type Draft, useCheck } from "./fields";

const bodyOf = ({ name, region, cluster, labels }: Draft): NewDatacenter => ({
  name,
  region,
  cluster,
  labels: labelsOf(labels),
});

export default function NewDatacenterDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const navigate = useNavigate();
  const create = useAct((body: NewDatacenter, key) => call(createDatacenter, { body }, { key }), {
    touches: [datacenters.queryKey],
    onDone: ({ id, name }) => {
      notify({
        title: t("catalogue.datacenterCreated", { name }),
        detail: t("catalogue.datacenterCreatedHint"),
      });
      void navigate({ to: "/admin/datacenters/$id", params: { id } });
    },
  });
  const form = useForm<Draft>({
    initial: { name: "", region: "", cluster: "", labels: "" },
    check: useCheck(),
    send: (draft) => create.run(bodyOf(draft)),
    error: create.error,
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("catalogue.newDatacenter")}
      description={t("catalogue.newDatacenterHint")}
      footer={
        <>
          <CopyCurl command={asCurl(createDatacenter, { body: bodyOf(form.values) })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("catalogue.createDatacenter")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <DatacenterFields form={form} units={0} />
        {create.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={create.error} />}
      </div>
    </Dialog>
  );
}
