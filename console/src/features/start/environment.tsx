import { ChevronRight, Plus, X } from "lucide-react";
import { useId, useState } from "react";
import { useText } from "@/i18n";
import { Button, IconButton } from "@/ui/button";
import { PasswordField, TextField } from "@/ui/field";
import { Panel } from "@/ui/page";
import type { Variable } from "./order";
import type { StartForm } from "./use-start";

export default function EnvironmentFields({ form }: { form: StartForm }) {
  const { t } = useText();
  return (
    <Panel>
      <Variables form={form} name="env" title={t("start.env")} hint={t("start.envHint")} />
      <Variables form={form} name="secrets" title={t("start.secrets")} hint={t("start.secretsHint")} />
    </Panel>
  );
}

function Variables({
  form,
  name,
  title,
  hint,
}: {
  form: StartForm;
  name: "env" | "secrets";
  title: string;
  hint: string;
}) {
  const { t } = useText();
  const id = useId();
  const [isOpened, setOpened] = useState(false);
  const items = form.values[name];
  // a refusal at one of its fields must be seen
  const isOpen =
    isOpened || items.some((_, i) => form.error(`${name}.${i}.name`) ?? form.error(`${name}.${i}.value`));
  const change = (next: Variable[]) => form.set(name, next);
  const add = () => change([...items, { key: crypto.randomUUID(), name: "", value: "" }]);
  const toggle = () => {
    setOpened(!isOpen);
    if (!isOpen && items.length === 0) add();
  };
  const count = items.filter((it) => it.name.trim()).length;
  const Value = name === "secrets" ? PasswordField : TextField;
  return (
    <div className="border-line border-b last:border-b-0">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={toggle}
        className="flex min-h-11 w-full cursor-pointer items-center gap-2 rounded-lg px-4 text-left text-sm -outline-offset-2 hover:bg-paper"
      >
        <ChevronRight className={`size-4 text-ink-3 ${isOpen ? "rotate-90" : ""}`} aria-hidden="true" />
        <span className="font-medium">{title}</span>
        <span className="ml-auto text-ink-3 text-xs">
          {count > 0 ? t("start.variables", { count }) : t("start.noVariables")}
        </span>
      </button>
      {isOpen && (
        <div id={id} className="space-y-3 px-4 pb-4">
          <p className="max-w-[68ch] text-ink-3 text-xs">{hint}</p>
          {items.map((it, i) => {
            const set = (more: Partial<Variable>) =>
              change(items.map((other) => (other === it ? { ...other, ...more } : other)));
            return (
              <div
                key={it.key}
                className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.4fr)_auto] items-start gap-2 max-sm:grid-cols-[minmax(0,1fr)_auto]"
              >
                <TextField
                  name={`${name}.${i}.name`}
                  label={t("start.variableName")}
                  value={it.name}
                  error={form.error(`${name}.${i}.name`)}
                  onChange={(event) => set({ name: event.target.value })}
                  autoComplete="off"
                  spellCheck={false}
                />
                <Value
                  className="max-sm:order-3"
                  name={`${name}.${i}.value`}
                  label={t("start.variableValue")}
                  value={it.value}
                  error={form.error(`${name}.${i}.value`)}
                  onChange={(event) => set({ value: event.target.value })}
                  autoComplete="off"
                  spellCheck={false}
                />
                <div className="pt-6.5 max-sm:order-2">
                  <IconButton
                    label={t("start.removeVariable", { name: it.name || String(i + 1) })}
                    onClick={() => change(items.filter((other) => other !== it))}
                  >
                    <X className="size-4" aria-hidden="true" />
                  </IconButton>
                </div>
              </div>
            );
          })}
          <Button small onClick={add}>
            <Plus className="size-4" aria-hidden="true" />
            {name === "secrets" ? t("start.addSecret") : t("start.addVariable")}
          </Button>
        </div>
      )}
    </div>
  );
}
