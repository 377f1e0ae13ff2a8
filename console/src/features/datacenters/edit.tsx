import { useQueryClient } from "@tanstack/react-query";
import { datacenters, stock } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { updateDatacenter } from "@/api/generated/operations";
import type { Datacenter, DatacenterId, DatacenterPatch } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useAct, useLoaded } from "@/api/query";
import { datacenter } from "@/api/stock";
import { ChangedMeanwhile, DifferenceText, differencesOf, useBase } from "@/domain/catalogue/changed";
import { labelsOf, labelsText } from "@/domain/catalogue/labels";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { notify } from "@/ui/toast";
import { DatacenterFields, type Draft, useCheck } from "./fields";

const draftOf = ({ name, region, cluster, labels }: Datacenter): Draft => ({
  name,
  region,
  cluster,
  labels: labelsText(labels),
});

function patchOf(draft: Draft, base: Draft): DatacenterPatch {
  const { name, region, cluster, labels } = draft;
  return {
    ...(name !== base.name && { name }),
    ...(region !== base.region && { region }),
    ...(cluster !== base.cluster && { cluster }),
    ...(labels !== base.labels && { labels: labelsOf(labels) }),
  };
}

export default function EditDatacenterDialog({
  id,
  units,
  onClose,
}: {
  id: DatacenterId;
  units: number;
  onClose: () => void;
}) {
  const { t } = useText();
  const client = useQueryClient();
  const place = useLoaded(datacenter(id));
  const { base, isChanged, rebase } = useBase(place);
  const update = useAct(
    (body: DatacenterPatch, key) => call(updateDatacenter, { path: { id }, body }, { key }),
    {
      touches: [datacenters.queryKey, stock.queryKey],
      onDone: ({ name }) => {
        notify({ title: t("catalogue.saved", { name }) });
        onClose();
      },
      onFailed: (error) => {
        if (error instanceof ApiError && error.is("changed-meanwhile"))
          void client.invalidateQueries({ queryKey: datacenters.queryKey });
      },
    },
  );
  const form = useForm<Draft>({
    initial: draftOf(place),
    check: useCheck(),
    send: () => {
      rebase({ ...base, updated_at: place.updated_at });
      update.run(body);
    },
    error: update.error,
  });
  const body = patchOf(form.values, draftOf(base));
  const facts = ({ name, region, cluster, labels }: Draft) => [
    { key: "name", label: t("catalogue.name"), value: name },
    { key: "region", label: t("catalogue.region"), value: region },
    { key: "cluster", label: t("catalogue.cluster"), value: cluster },
    { key: "labels", label: t("catalogue.labels"), value: labels.replaceAll("\n", ", ") },
  ];
  const state = ({ state }: Datacenter) => ({
    key: "state",
    label: t("catalogue.state"),
    value: t(state === "active" ? "catalogue.inUse" : "stock.draining"),
  });
  const isConflict = update.error instanceof ApiError && update.error.is("changed-meanwhile");
  const nothing = Object.keys(body).length === 0 && t("catalogue.nothingChanged");
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => !nothing && form.submit()}
      title={t("catalogue.editTitle", { name: place.name })}
      footer={
        <>
          <CopyCurl command={asCurl(updateDatacenter, { path: { id }, body })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={update.busy} disabled={nothing}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <DatacenterFields form={form} units={units} />
        <Changes
          title={t("stock.whatItDoes")}
          empty={t("catalogue.nothingChanged")}
          changes={differencesOf(facts(draftOf(base)), facts(form.values)).map((it) => ({
            key: it.key,
            sign: "→",
            text: <DifferenceText it={it} />,
          }))}
        />
        {isChanged && !update.busy && (
          <ChangedMeanwhile
            differences={differencesOf(
              [...facts(draftOf(base)), state(base)],
              [...facts(draftOf(place)), state(place)],
            )}
          />
        )}
        {update.error && !isConflict && !Object.values(form.errors).some(Boolean) && (
          <ErrorLine error={update.error} />
        )}
      </div>
    </Dialog>
  );
}
