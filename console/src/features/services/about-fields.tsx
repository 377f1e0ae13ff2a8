import { Plus, X } from "lucide-react";
import { useText } from "@/i18n";
import { Button, IconButton } from "@/ui/button";
import { Checkbox, TextAreaField, TextField } from "@/ui/field";
import { Panel, Section } from "@/ui/page";
import type { ServiceForm } from "./use-service-form";

export function AboutFields({ form }: { form: ServiceForm }) {
  const { t } = useText();
  const { about, change, error } = form;
  const text = (name: "service" | "version" | "description" | "icon_url") => ({
    name,
    value: about[name],
    error: error(name),
    autoComplete: "off",
  });
  const setChinese = (next: string) => change({ descriptions: { ...about.descriptions, "zh-CN": next } });
  return (
    <Section title={t("catalogue.about")} hint={t("catalogue.aboutHint")}>
      <Panel className="grid gap-4 p-4 md:grid-cols-2">
        {about.isNew && (
          <>
            <TextField
              {...text("service")}
              label={t("catalogue.serviceName")}
              hint={t("catalogue.serviceHint")}
              placeholder="stable-diffusion-webui"
              spellCheck={false}
              onChange={(event) => change({ service: event.target.value })}
            />
            <TextField
              {...text("version")}
              label={t("catalogue.version")}
              placeholder="1.11"
              spellCheck={false}
              onChange={(event) => change({ version: event.target.value })}
            />
          </>
        )}
        <TextAreaField
          {...text("description")}
          rows={2}
          label={t("catalogue.description")}
          hint={t("catalogue.descriptionHint")}
          onChange={(event) => change({ description: event.target.value })}
        />
        <TextAreaField
          rows={2}
          name="descriptions.zh-CN"
          label={t("catalogue.descriptionChinese")}
          value={about.descriptions["zh-CN"] ?? ""}
          error={error("descriptions.zh-CN")}
          onChange={(event) => setChinese(event.target.value)}
        />
        <TextField
          {...text("icon_url")}
          label={t("catalogue.icon")}
          hint={t("catalogue.iconHint")}
          placeholder="https://"
          onChange={(event) => change({ icon_url: event.target.value.trim() })}
        />
        {about.isNew && (
          <div className="space-y-3 md:pt-5">
            <Checkbox
              label={t("catalogue.enabled")}
              hint={t("catalogue.enabledHint")}
              checked={about.enabled}
              onChange={(event) =>
                change({
                  enabled: event.target.checked,
                  recommended: event.target.checked && about.recommended,
                })
              }
            />
            <Checkbox
              label={t("catalogue.recommended")}
              hint={t("catalogue.recommendedHint")}
              checked={about.recommended}
              onChange={(event) =>
                change({ recommended: event.target.checked, enabled: about.enabled || event.target.checked })
              }
            />
          </div>
        )}
        <Links form={form} />
      </Panel>
    </Section>
  );
}

function Links({ form: { about, change, error } }: { form: ServiceForm }) {
  const { t } = useText();
  const set = (key: string, more: { title?: string; url?: string }) =>
    change({ links: about.links.map((it) => (it.key === key ? { ...it, ...more } : it)) });
  return (
    <div className="space-y-3 md:col-span-2">
      {about.links.map((link, i) => (
        <div
          key={link.key}
          className="grid grid-cols-[minmax(0,1fr)_minmax(0,1.6fr)_auto] items-start gap-2 max-sm:grid-cols-[minmax(0,1fr)_auto]"
        >
          <TextField
            name={`links.${i}.title`}
            label={t("catalogue.linkTitle")}
            value={link.title}
            error={error(`links.${i}.title`)}
            onChange={(event) => set(link.key, { title: event.target.value })}
          />
          <TextField
            className="max-sm:order-3"
            name={`links.${i}.url`}
            label={t("catalogue.linkUrl")}
            value={link.url}
            error={error(`links.${i}.url`)}
            onChange={(event) => set(link.key, { url: event.target.value.trim() })}
          />
          <div className="pt-6.5 max-sm:order-2">
            <IconButton
              label={t("catalogue.removeLink", { name: link.title || String(i + 1) })}
              onClick={() => change({ links: about.links.filter((it) => it.key !== link.key) })}
            >
              <X className="size-4" aria-hidden="true" />
            </IconButton>
          </div>
        </div>
      ))}
      <Button
        small
        onClick={() => change({ links: [...about.links, { key: crypto.randomUUID(), title: "", url: "" }] })}
      >
        <Plus className="size-4" aria-hidden="true" />
        {t("catalogue.addLink")}
      </Button>
    </div>
  );
}
