import { Plus, X } from "lucide-react";
import { useText } from "@/i18n";
import { Button, IconButton } from "@/ui/button";
import { TextField } from "@/ui/field";
import { newVariable } from "./template";
import type { ServiceForm } from "./use-service-form";

export function VariableFields({ form: { draft, setDraft, error } }: { form: ServiceForm }) {
  const { t } = useText();
  const set = (key: string, more: { name?: string; value?: string }) =>
    setDraft({ env: draft.env.map((it) => (it.key === key ? { ...it, ...more } : it)) });
  return (
    <fieldset className="min-w-0 space-y-3 md:col-span-2">
      <legend className="font-medium text-sm">{t("catalogue.env")}</legend>
      <p className="text-ink-3 text-xs">{t("catalogue.envHint")}</p>
      {draft.env.map((variable, i) => (
        <div
          key={variable.key}
          className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.6fr)_auto] items-start gap-2 max-sm:grid-cols-[minmax(0,1fr)_auto] [&_input]:font-mono"
        >
          <TextField
            name={`template.env.${i}.name`}
            label={t("catalogue.variableName")}
            value={variable.name}
            error={error(`template.env.${i}.name`)}
            onChange={(event) => set(variable.key, { name: event.target.value.trim() })}
            autoComplete="off"
            spellCheck={false}
          />
          <TextField
            className="max-sm:order-3"
            name={`template.env.${i}.value`}
            label={t("catalogue.variableValue")}
            value={variable.value}
            error={error(`template.env.${i}.value`)}
            onChange={(event) => set(variable.key, { value: event.target.value })}
            autoComplete="off"
            spellCheck={false}
          />
          <div className="pt-6.5 max-sm:order-2">
            <IconButton
              label={t("catalogue.removeVariable", { name: variable.name || String(i + 1) })}
              onClick={() => setDraft({ env: draft.env.filter((it) => it.key !== variable.key) })}
            >
              <X className="size-4" aria-hidden="true" />
            </IconButton>
          </div>
        </div>
      ))}
      <Button small onClick={() => setDraft({ env: [...draft.env, newVariable()] })}>
        <Plus className="size-4" aria-hidden="true" />
        {t("catalogue.addVariable")}
      </Button>
    </fieldset>
  );
}
