import { areLabels } from "@/domain/catalogue/labels";
import { useText } from "@/i18n";
import type { Errors, Form } from "@/lib/form";
import { TextAreaField, TextField } from "@/ui/field";

export interface Draft {
  name: string;
  region: string;
  cluster: string;
  labels: string;
}

export function useCheck() {
  const { t } = useText();
  return (draft: Draft): Errors<Draft> => ({
    name: /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(draft.name) ? undefined : t("catalogue.nameWrong"),
    region: draft.region.trim() ? undefined : t("catalogue.regionMissing"),
    cluster: draft.cluster.trim() ? undefined : t("catalogue.clusterMissing"),
    labels: areLabels(draft.labels) ? undefined : t("catalogue.labelsWrong"),
  });
}

/** While there are units, name and cluster cannot change. */
export function DatacenterFields({ form, units }: { form: Form<Draft>; units: number }) {
  const { t } = useText();
  const locked = units > 0 && t("catalogue.placeLocked", { count: units });
  const plain = { autoComplete: "off", spellCheck: false } as const;
  return (
    <>
      <TextField
        {...form.text("name")}
        {...plain}
        label={t("catalogue.name")}
        hint={locked || t("catalogue.placeNameHint")}
        readOnly={Boolean(locked)}
        placeholder="uk-1"
      />
      <TextField
        {...form.text("region")}
        {...plain}
        label={t("catalogue.region")}
        hint={t("catalogue.regionHint")}
        placeholder="London"
      />
      <TextField
        {...form.text("cluster")}
        {...plain}
        label={t("catalogue.cluster")}
        hint={locked || t("catalogue.clusterHint")}
        readOnly={Boolean(locked)}
      />
      <TextAreaField
        className="[&_textarea]:font-mono"
        name="labels"
        label={t("catalogue.labels")}
        hint={t("catalogue.placeLabelsHint")}
        value={form.values.labels}
        error={form.errors.labels}
        onChange={(event) => form.set("labels", event.target.value)}
        spellCheck={false}
        rows={2}
      />
    </>
  );
}
