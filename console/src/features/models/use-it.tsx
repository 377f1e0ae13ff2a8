import { useQuery } from "@tanstack/react-query";
import { storages } from "@/api/catalogue";
import { asCurl } from "@/api/client";
import { createJob } from "@/api/generated/operations";
import type { Model } from "@/api/generated/types";
import { deployments } from "@/api/models";
import { useLoaded } from "@/api/query";
import { promptTag } from "@/domain/models/files";
import { useText } from "@/i18n";
import { CopyBox } from "@/ui/copy";
import { Panel, Section } from "@/ui/page";

/** Beyond the form for pictures: a word for prompts, and a command. */
export function UseIt({ it }: { it: Model }) {
  const { t } = useText();
  const { items } = useLoaded(deployments(it.id));
  const { data: volumes } = useQuery(storages);
  const there = items.find((one) => one.state === "deployed" && promptTag(one.path));
  const volume = volumes?.find((one) => one.id === there?.storage_id);
  const tag = there && promptTag(there.path);
  const command = asCurl(createJob, {
    body: {
      application: "stable-diffusion",
      method: "txt2img",
      parameters: {
        prompt: "…",
        model: it.base_model,
        models: [{ id: it.id, weight: 0.8 }],
      },
    },
  });
  return (
    <Section title={t("models.use")} hint={t("models.useHint")}>
      <Panel className="divide-y divide-line">
        <div className="p-4">
          <h3 className="font-medium text-sm">{t("models.useInstance")}</h3>
          {tag ? (
            <>
              <p className="mb-2 text-ink-2 text-sm">
                {t("models.useInstanceHint", { storage: volume?.name ?? "…" })}
              </p>
              <CopyBox text={tag} label={t("models.copyTag")} />
            </>
          ) : (
            <p className="text-ink-2 text-sm">{t("models.useInstanceNone")}</p>
          )}
        </div>
        <div className="p-4">
          <h3 className="mb-2 font-medium text-sm">{t("models.useCurl")}</h3>
          <CopyBox text={command} label={t("models.copyCurl")} lines />
        </div>
      </Panel>
    </Section>
  );
}
