import { clsx } from "clsx";
import type { ReactNode } from "react";
import { useText } from "@/i18n";
import { Checkbox } from "@/ui/field";
import { Panel } from "@/ui/page";
import type { StartForm } from "./use-start";

/** Idle stop, and what happens when the node is lost. */
export default function GuardFields({ form, budget }: { form: StartForm; budget: ReactNode }) {
  const { t } = useText();
  const { values } = form;
  const error = form.error("idle_stop.after_seconds");
  return (
    <Panel>
      <Guard
        box={
          <Checkbox
            checked={values.idle}
            onChange={(event) => form.set("idle", event.target.checked)}
            label={<span className="font-medium">{t("start.idle")}</span>}
            hint={t("start.idleHint")}
          />
        }
      >
        {values.idle && (
          <label className="flex items-center gap-2 text-sm">
            {t("start.after")}
            <span
              className={clsx(
                "flex h-8 w-24 items-center gap-1 rounded-md border bg-sheet px-2.5 focus-within:outline-2 focus-within:outline-ultra max-md:h-10",
                error ? "border-vermilion" : "border-line-strong",
              )}
            >
              <input
                name="idle_stop.after_seconds"
                value={values["idle_stop.after_seconds"]}
                onChange={(event) => form.set("idle_stop.after_seconds", event.target.value)}
                aria-invalid={Boolean(error)}
                aria-describedby={error ? "idle-error" : undefined}
                inputMode="numeric"
                className="num w-full min-w-0 bg-transparent outline-none"
              />
              <span className="shrink-0 text-ink-3 text-xs">{t("start.minutes")}</span>
            </span>
          </label>
        )}
        {values.idle && error && (
          <p id="idle-error" className="w-full pl-6.5 text-vermilion text-xs md:pl-0 md:text-right">
            {error}
          </p>
        )}
      </Guard>
      <Guard
        box={
          <Checkbox
            checked={values.on_node_loss === "restart"}
            onChange={(event) => form.set("on_node_loss", event.target.checked ? "restart" : "stop")}
            label={<span className="font-medium">{t("start.elsewhere")}</span>}
            hint={t("start.elsewhereHint")}
          />
        }
      />
      <p className="px-4 py-3 text-ink-3 text-xs">{budget}</p>
    </Panel>
  );
}

function Guard({ box, children }: { box: ReactNode; children?: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 border-line border-b px-4 py-3 last:border-b-0">
      <div className="min-w-0 flex-1 basis-64">{box}</div>
      {children}
    </div>
  );
}
