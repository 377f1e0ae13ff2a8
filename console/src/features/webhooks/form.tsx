import type { JobEventType, NewWebhook, Webhook } from "@/api/generated/types";
import { type Text, useText } from "@/i18n";
import { type Form, useForm } from "@/lib/form";
import { Checkbox, TextField } from "@/ui/field";
import { Segmented } from "@/ui/segmented";

/** `job.succeeded` without its beginning. The ends come first. */
const eventNames = [
  "succeeded",
  "failed",
  "expired",
  "cancelled",
  "submitted",
  "assigned",
  "started",
  "progress",
  "changed",
  "preempting",
  "requeued",
  "cancelling",
] as const;

export interface Values {
  url: string;
  which: "all" | "chosen";
  events: readonly JobEventType[];
}

/** What a new one begins with: that a job has ended. */
const ends: readonly JobEventType[] = ["job.succeeded", "job.failed"];

export const valuesOf = (it?: Webhook): Values => ({
  url: it?.url ?? "",
  which: it?.events.length ? "chosen" : "all",
  events: it?.events.length ? it.events : ends,
});

export const bodyOf = ({ url, which, events }: Values) =>
  ({ url: url.trim(), events: which === "all" ? [] : [...events] }) satisfies NewWebhook;

function urlFault(text: string, t: Text): string | undefined {
  if (!text.trim()) return t("webhooks.urlMissing");
  if (!URL.canParse(text.trim())) return t("webhooks.urlWrong");
  if (new URL(text.trim()).protocol !== "https:") return t("webhooks.urlHttps");
  return undefined;
}

/** What the API says of an address, in the reader's language where it is known. */
function urlRefusal(detail: string | undefined, t: Text): string | undefined {
  if (detail?.includes("private address")) return t("webhooks.urlPrivate");
  if (detail?.includes("user name")) return t("webhooks.urlUser");
  if (detail?.includes("https")) return t("webhooks.urlHttps");
  return detail;
}

export function useWebhookForm(
  initial: Values,
  send: (values: Values) => void,
  error: unknown,
): Form<Values> {
  const { t } = useText();
  return useForm<Values>({
    initial,
    check: ({ url, which, events }) => ({
      url: urlFault(url, t),
      events: which === "all" || events.length > 0 ? undefined : t("webhooks.eventsMissing"),
    }),
    send,
    error,
  });
}

/** Where to, and which events. */
export function WebhookFields({ form }: { form: Form<Values> }) {
  const { t } = useText();
  const { which } = form.values;
  const url = form.text("url");
  return (
    <div className="space-y-4">
      <TextField
        {...url}
        error={urlRefusal(url.error, t)}
        label={t("webhooks.url")}
        hint={t("webhooks.urlHint")}
        placeholder="https://"
        type="url"
        autoComplete="off"
        spellCheck={false}
      />
      <fieldset>
        <legend className="mb-1 font-medium text-sm">{t("webhooks.events")}</legend>
        <div className="flex">
          <Segmented
            label={t("webhooks.eventsWhich")}
            value={which}
            choices={[
              { value: "all", label: t("webhooks.eventsAll") },
              { value: "chosen", label: t("webhooks.eventsChosen") },
            ]}
            onChange={(next) => form.set("which", next)}
          />
        </div>
        {which === "all" ? (
          <p className="mt-1 text-ink-3 text-xs">{t("webhooks.eventsAllHint")}</p>
        ) : (
          <div className="mt-3 grid gap-x-4 gap-y-2 md:grid-cols-2">
            {eventNames.map((name) => (
              <EventBox key={name} name={name} form={form} />
            ))}
          </div>
        )}
        {form.errors.events && <p className="mt-2 text-vermilion text-xs">{form.errors.events}</p>}
      </fieldset>
    </div>
  );
}

function EventBox({ name, form }: { name: (typeof eventNames)[number]; form: Form<Values> }) {
  const { t } = useText();
  const type = `job.${name}` as const;
  const { events } = form.values;
  return (
    <Checkbox
      name={name === eventNames[0] ? "events" : undefined}
      checked={events.includes(type)}
      onChange={(event) =>
        form.set("events", event.target.checked ? [...events, type] : events.filter((it) => it !== type))
      }
      label={<span className="font-mono">{type}</span>}
      hint={t(`webhooks.eventHints.${name}`)}
    />
  );
}
