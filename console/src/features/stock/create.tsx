import { useQuery } from "@tanstack/react-query";
import { datacenters, gpuSpecs, stock } from "@/api/catalogue";
import { asCurl, call } from "@/api/client";
import { addStock } from "@/api/generated/operations";
import { useAct } from "@/api/query";
import { stockOperations } from "@/api/stock";
import { useSpecText } from "@/domain/catalogue/spec-text";
import { useText } from "@/i18n";
import { useForm } from "@/lib/form";
import { Button } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { NumberField } from "@/ui/number-field";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";
import { isCount, MOST } from "./change";

/** The first units of a specification in a datacenter. */
export default function CreateDialog({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const specText = useSpecText();
  const { data: specs = [] } = useQuery(gpuSpecs);
  const { data: places = [] } = useQuery(datacenters);
  const open = places.filter((it) => it.state === "active");
  const add = useAct(
    (body: { gpu_spec: string; datacenter: string; count: number }, key) => call(addStock, { body }, { key }),
    {
      touches: [stock.queryKey, stockOperations.queryKey],
      onDone: (_, { gpu_spec, datacenter, count }) => {
        notify({ title: t("stock.created", { count, spec: gpu_spec, datacenter }) });
        onClose();
      },
    },
  );
  const form = useForm({
    initial: { gpu_spec: "", datacenter: "", count: "1" },
    check: (values) => ({
      gpu_spec: values.gpu_spec ? undefined : t("stock.specMissing"),
      datacenter: values.datacenter ? undefined : t("stock.datacenterMissing"),
      count:
        isCount(values.count) && Number(values.count) >= 1 && Number(values.count) <= MOST
          ? undefined
          : t("stock.countRange", { most: MOST }),
    }),
    send: (values) => add.run({ ...values, count: Number(values.count) }),
    error: add.error,
  });
  const { gpu_spec, datacenter, count } = form.values;
  const isWhole = Boolean(gpu_spec && datacenter && isCount(count) && Number(count) > 0);
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={form.submit}
      title={t("stock.create")}
      description={t("stock.createHint")}
      footer={
        <>
          <CopyCurl
            command={asCurl(addStock, { body: { gpu_spec, datacenter, count: Number(count) || 1 } })}
          />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={add.busy}>
            {t("stock.create")}
          </Button>
        </>
      }
    >
      <div className="space-y-4">
        <SelectField
          label={t("stock.spec")}
          value={gpu_spec}
          error={form.errors.gpu_spec}
          onChange={(value) => form.set("gpu_spec", value)}
          choices={specs.map((spec) => ({ value: spec.name, label: spec.name, hint: specText(spec) }))}
        />
        <SelectField
          label={t("stock.datacenter")}
          value={datacenter}
          error={form.errors.datacenter}
          onChange={(value) => form.set("datacenter", value)}
          choices={open.map((place) => ({ value: place.name, label: place.name, hint: place.region }))}
        />
        <NumberField
          name="count"
          least={1}
          label={t("stock.units")}
          value={count}
          error={form.errors.count}
          onChange={(value) => form.set("count", value)}
        />
        <Changes
          title={t("stock.whatItDoes")}
          empty={t("stock.chooseBoth")}
          changes={
            isWhole
              ? [
                  {
                    key: "add",
                    sign: "+",
                    text: t("stock.addsOf", { count: Number(count), spec: gpu_spec, datacenter }),
                  },
                ]
              : []
          }
        />
        {add.error && !Object.values(form.errors).some(Boolean) && <ErrorLine error={add.error} />}
      </div>
    </Dialog>
  );
}
