import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { adapters } from "@/api/jobs/queries";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { CopyIconButton } from "@/ui/copy";
import type { PictureParameters } from "./parameters";

/** One line: what it is at the left, its value at the right. */
export function FactLine({ label, children }: { label: string; children: ReactNode }) {
  return (
    <div className="flex min-h-7 items-center justify-between gap-4">
      <dt className="shrink-0 text-ink-3">{label}</dt>
      <dd className="num min-w-0 break-words text-right">{children}</dd>
    </div>
  );
}

/** Generation parameters of a picture, as far as they are known. */
export function AskedFacts({
  known,
  several,
}: {
  known: PictureParameters | null;
  /** Of a job with several pictures: each has a seed of its own. */
  several?: boolean;
}) {
  const { t } = useText();
  const { list } = useFormat();
  const { data: models } = useQuery({ ...adapters, enabled: (known?.models.length ?? 0) > 0 });
  if (!known)
    return (
      <div className="text-sm">
        <p>{t("jobs.textUnknown")}</p>
        <p className="text-ink-3 text-xs">{t("jobs.unknownPromptHint")}</p>
      </div>
    );
  const { width, height, steps, cfg_scale, seed } = known;
  return (
    <div className="text-sm">
      <Words label={t("jobs.prompt")}>{known.prompt || "–"}</Words>
      {known.negative_prompt && <Words label={t("jobs.without")}>{known.negative_prompt}</Words>}
      <dl className="mt-3 border-line border-t pt-2">
        <FactLine label={t("jobs.model")}>
          {known.model && known.model !== "default" ? (
            <span className="font-mono text-xs">{known.model}</span>
          ) : (
            t("jobs.defaultModel")
          )}
        </FactLine>
        {known.models.length > 0 && (
          <FactLine label={t("jobs.adapters")}>
            {list(
              known.models.map(({ id, weight }) =>
                t("jobs.adapterAt", { name: models?.find((it) => it.id === id)?.name ?? id, weight }),
              ),
            )}
          </FactLine>
        )}
        <FactLine label={t(several && seed !== null ? "jobs.firstSeed" : "jobs.seed")}>
          {seed === null ? (
            t("jobs.randomSeed")
          ) : (
            <span className="-mr-2 inline-flex items-center gap-0.5">
              <span className="font-mono text-xs">{seed}</span>
              <CopyIconButton text={String(seed)} label={t("jobs.copySeed")} />
            </span>
          )}
        </FactLine>
        {width && height && (
          <FactLine label={t("jobs.size")}>
            {width} × {height}
          </FactLine>
        )}
        {steps && (
          <FactLine label={t("jobs.stepsGuidance")}>{[steps, cfg_scale].filter(Boolean).join(", ")}</FactLine>
        )}
        {known.sampler && <FactLine label={t("jobs.sampler")}>{known.sampler}</FactLine>}
      </dl>
    </div>
  );
}

function Words({ label, children }: { label: string; children: string }) {
  return (
    <div className="mt-3 first:mt-0">
      <p className="text-ink-3 text-xs">{label}</p>
      <p className="max-w-[68ch] whitespace-pre-wrap break-words">{children}</p>
    </div>
  );
}
