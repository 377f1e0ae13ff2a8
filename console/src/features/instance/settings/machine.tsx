import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { gpuSpecs, services } from "@/api/catalogue";
import { call } from "@/api/client";
import { updateInstance } from "@/api/generated/operations";
import type { Instance, InstanceChange } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { useAct } from "@/api/query";
import { gpuTitle } from "@/domain/instances/gpu";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Panel, Section } from "@/ui/page";
import { SelectField } from "@/ui/select";
import { notify } from "@/ui/toast";

/** Another GPU or version, while it is stopped; the price of the next start stands beside it. */
export default function Machine({ it, whyNot }: { it: Instance; whyNot: string | false }) {
  const { t } = useText();
  const { money } = useFormat();
  const client = useQueryClient();
  const { data: specs } = useQuery(gpuSpecs);
  const { data: offered } = useQuery(services);
  const [gpu, setGpu] = useState(it.gpu_spec.name);
  const [version, setVersion] = useState(it.version ?? "");
  const save = useAct(
    (body: InstanceChange, key) => call(updateInstance, { path: { id: it.id }, body }, { key }),
    {
      onDone: (answer) => {
        putInstance(client, answer);
        notify({ title: t("instance.saved") });
      },
    },
  );
  const versions = offered?.filter((one) => one.service === it.service && !one.deprecated) ?? [];
  const change = {
    ...(gpu !== it.gpu_spec.name && { gpu_spec: gpu }),
    ...(version !== it.version && version && { version }),
  };
  const isChanged = Object.keys(change).length > 0;
  const chosen = specs?.find((one) => one.name === gpu);
  const price = (of: { price_per_hour: string; currency: string }) =>
    t("ui.perHour", { price: money(of.price_per_hour, of.currency) });
  const reason = whyNot || (it.state !== "stopped" && t("instance.stopFirst"));
  return (
    <Section title={t("instance.machine")} hint={t("instance.machineHint")}>
      <Panel className="p-4">
        <div className="grid gap-4 md:grid-cols-2">
          <SelectField
            label={t("instance.gpu")}
            value={gpu}
            choices={[
              ...(specs?.some((one) => one.name === it.gpu_spec.name)
                ? []
                : [{ value: it.gpu_spec.name, label: it.gpu_spec.name }]),
              ...(specs ?? []).map((one) => ({
                value: one.name,
                label: `${gpuTitle(one)} · ${price(one)}`,
                hint: one.name,
              })),
            ]}
            onChange={setGpu}
          />
          {it.service && (
            <SelectField
              label={t("instance.versionOf", { service: it.service })}
              value={version}
              choices={[
                ...(versions.some((one) => one.version === it.version)
                  ? []
                  : [
                      {
                        value: it.version ?? "",
                        label: t("instance.versionOld", { version: it.version ?? "" }),
                      },
                    ]),
                ...versions.map((one) => ({
                  value: one.version,
                  label: one.version,
                  ...(one.recommended && { hint: t("instance.recommended") }),
                })),
              ]}
              onChange={setVersion}
            />
          )}
        </div>
        <div className="mt-4 flex flex-wrap items-center justify-between gap-3">
          <p className="num text-ink-3 text-xs">
            {reason ||
              (chosen && chosen.name !== it.gpu_spec.name
                ? t("instance.priceChange", { before: price(it), after: price(chosen) })
                : t("instance.priceSame", { price: price(it) }))}
          </p>
          <Button
            kind={isChanged && !reason ? "primary" : "plain"}
            busy={save.busy}
            disabled={reason || (!isChanged && t("instance.nothingChanged"))}
            onClick={() => save.run(change)}
          >
            {t("ui.save")}
          </Button>
        </div>
        {save.error != null && <ErrorLine error={save.error} className="mt-3" />}
      </Panel>
    </Section>
  );
}
