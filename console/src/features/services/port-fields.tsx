import { Plus, X } from "lucide-react";
import { useText } from "@/i18n";
import { Button, IconButton } from "@/ui/button";
import { Checkbox, TextField } from "@/ui/field";
import { SelectField } from "@/ui/select";
import { newPort, type PortDraft } from "./template";
import type { ServiceForm } from "./use-service-form";

/** Ports: which one the address of an instance leads to, and which one says that it is ready. */
export function PortFields({ form: { draft, setDraft, error } }: { form: ServiceForm }) {
  const { t } = useText();
  const set = (key: string, more: Partial<PortDraft>) =>
    setDraft({ ports: draft.ports.map((it) => (it.key === key ? { ...it, ...more } : it)) });
  const wrong = error("template.ports");
  return (
    <fieldset
      className="min-w-0 space-y-3 md:col-span-2"
      aria-describedby={wrong ? "ports-wrong" : undefined}
    >
      <legend className="font-medium text-sm">{t("catalogue.ports")}</legend>
      {draft.ports.map((port, i) => {
        const at = `template.ports.${i}`;
        return (
          <div
            key={port.key}
            className="grid grid-cols-[6rem_7rem_minmax(6rem,1fr)_minmax(8rem,1fr)_auto_auto_auto] items-start gap-x-3 gap-y-2 border-line border-b pb-3 max-md:grid-cols-[1fr_1fr_auto]"
          >
            <TextField
              name={`${at}.port`}
              label={t("catalogue.port")}
              inputMode="numeric"
              autoComplete="off"
              value={port.port}
              error={error(`${at}.port`)}
              onChange={(event) => set(port.key, { port: event.target.value.trim() })}
            />
            <SelectField
              label={t("catalogue.protocol")}
              value={port.protocol}
              error={error(`${at}.protocol`)}
              onChange={(protocol) => set(port.key, { protocol })}
              choices={(["TCP", "UDP", "SCTP"] as const).map((value) => ({ value, label: value }))}
            />
            <TextField
              className="max-md:order-4 max-md:col-span-3"
              name={`${at}.title`}
              label={t("catalogue.portTitle")}
              placeholder={t("catalogue.portTitleExample")}
              autoComplete="off"
              value={port.title}
              error={error(`${at}.title`)}
              onChange={(event) => set(port.key, { title: event.target.value })}
            />
            <TextField
              className="max-md:order-4 max-md:col-span-3"
              name={`${at}.base_url`}
              label={t("catalogue.probePath")}
              placeholder={t("catalogue.onlyConnect")}
              autoComplete="off"
              value={port.base_url}
              error={error(`${at}.base_url`)}
              onChange={(event) => set(port.key, { base_url: event.target.value.trim() })}
            />
            <div className="pt-7.5 max-md:order-5 max-md:pt-1">
              <Checkbox
                label={t("catalogue.isPublic")}
                checked={port.is_public}
                onChange={(event) => set(port.key, { is_public: event.target.checked })}
              />
            </div>
            <div className="pt-7.5 max-md:order-6 max-md:pt-1">
              <Checkbox
                label={t("catalogue.isProbe")}
                checked={port.is_probe}
                onChange={(event) => set(port.key, { is_probe: event.target.checked })}
              />
            </div>
            <div className="pt-6.5 max-md:order-3">
              <IconButton
                label={t("catalogue.removePort", { port: port.port || String(i + 1) })}
                onClick={() => setDraft({ ports: draft.ports.filter((it) => it.key !== port.key) })}
              >
                <X className="size-4" aria-hidden="true" />
              </IconButton>
            </div>
          </div>
        );
      })}
      {wrong && (
        <p id="ports-wrong" className="text-vermilion text-xs">
          {wrong}
        </p>
      )}
      <Button small name="template.ports" onClick={() => setDraft({ ports: [...draft.ports, newPort()] })}>
        <Plus className="size-4" aria-hidden="true" />
        {t("catalogue.addPort")}
      </Button>
    </fieldset>
  );
}
