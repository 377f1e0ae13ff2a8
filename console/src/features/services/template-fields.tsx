import { useText } from "@/i18n";
import { Checkbox, TextAreaField, TextField } from "@/ui/field";
import { Panel } from "@/ui/page";
import { PortFields } from "./port-fields";
import type { TemplateDraft } from "./template";
import type { ServiceForm } from "./use-service-form";
import { VariableFields } from "./variable-fields";

type TextName = {
  [K in keyof TemplateDraft]: TemplateDraft[K] extends string ? K : never;
}[keyof TemplateDraft];

/** The usual of a template, field by field. */
export function TemplateFields({ form }: { form: ServiceForm }) {
  const { t } = useText();
  const { draft, setDraft, error } = form;
  const text = (name: TextName) => ({
    name: `template.${name}`,
    value: draft[name],
    error: error(`template.${name}`),
    autoComplete: "off",
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => setDraft({ [name]: event.target.value }),
  });
  const seconds = <span className="text-ink-3">s</span>;
  return (
    <Panel className="grid gap-x-4 gap-y-5 p-4 md:grid-cols-2">
      <TextField
        {...text("image")}
        className="md:col-span-2 [&_input]:font-mono"
        label={t("catalogue.image")}
        hint={t("catalogue.imageHint")}
        placeholder="registry.example.com/team/image:1.0"
      />
      <PortFields form={form} />
      <VariableFields form={form} />
      <TextAreaField
        {...text("command")}
        className="[&_textarea]:font-mono"
        label={t("catalogue.command")}
        hint={t("catalogue.commandHint")}
      />
      <TextAreaField
        {...text("args")}
        className="[&_textarea]:font-mono"
        label={t("catalogue.args")}
        hint={t("catalogue.argsHint")}
      />
      <TextField
        {...text("storage_mount_path")}
        className="[&_input]:font-mono"
        label={t("catalogue.mountPath")}
        hint={t("catalogue.mountPathHint")}
      />
      <TextField
        {...text("working_dir")}
        className="[&_input]:font-mono"
        label={t("catalogue.workingDir")}
        hint={t("catalogue.ofTheImage")}
      />
      <TextField
        {...text("shm_size_mib")}
        label={t("catalogue.sharedMemory")}
        hint={t("catalogue.sharedMemoryHint")}
        inputMode="numeric"
        after={<span className="text-ink-3">MiB</span>}
      />
      <TextField
        {...text("runtime_class_name")}
        className="[&_input]:font-mono"
        label={t("catalogue.runtimeClass")}
        hint={t("catalogue.runtimeClassHint")}
      />
      <TextField
        {...text("start_timeout_seconds")}
        label={t("catalogue.startTimeout")}
        hint={t("catalogue.startTimeoutHint")}
        inputMode="numeric"
        after={seconds}
      />
      <TextField
        {...text("termination_grace_period_seconds")}
        label={t("catalogue.grace")}
        hint={t("catalogue.graceHint")}
        inputMode="numeric"
        after={seconds}
      />
      <div className="md:col-span-2">
        <Checkbox
          label={t("catalogue.rootInside")}
          hint={t("catalogue.rootInsideHint")}
          checked={draft.root_inside}
          onChange={(event) => setDraft({ root_inside: event.target.checked })}
        />
      </div>
    </Panel>
  );
}
