import { useText } from "@/i18n";
import { Section } from "@/ui/page";
import { Segmented } from "@/ui/segmented";
import { TemplateFields } from "./template-fields";
import { TextView } from "./text-view";
import type { ServiceForm } from "./use-service-form";

/** The template in fields or as text, as the address says. */
export function TemplateSection({
  form,
  view,
  onView,
}: {
  form: ServiceForm;
  view: "fields" | "json";
  onView: (view: "fields" | "json") => void;
}) {
  const { t } = useText();
  // text that is no template yet has no fields
  const shown = form.isText ? "json" : view;
  return (
    <Section
      title={t("catalogue.template")}
      hint={form.isText ? t("catalogue.textFirst") : t("catalogue.templateHint")}
      actions={
        <Segmented
          label={t("catalogue.templateView")}
          value={shown}
          onChange={(next) => {
            if (next === "fields") form.leaveText();
            onView(next);
          }}
          choices={[
            { value: "fields", label: t("catalogue.viewFields") },
            { value: "json", label: "JSON" },
          ]}
        />
      }
    >
      {shown === "json" ? (
        <TextView
          text={form.text}
          faults={form.faults.filter((it) => it.pointer.startsWith("/template"))}
          onChange={form.setText}
        />
      ) : (
        <TemplateFields form={form} />
      )}
    </Section>
  );
}
