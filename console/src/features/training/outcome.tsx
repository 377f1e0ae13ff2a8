import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import type { Artifact, Job, Model } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { contentPath } from "@/api/jobs/picture-text";
import { isPicture } from "@/domain/jobs/picture";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { Sample } from "@/ui/sample";

/** The model, a picture made with it, and the files. */
export function Outcome({
  it,
  model,
  artifacts = [],
}: {
  it: Job;
  model: Model | undefined;
  artifacts: readonly Artifact[] | undefined;
}) {
  const { t } = useText();
  const picture = artifacts.find(isPicture);
  if (it.state !== "succeeded")
    return hasEnded(it) ? null : (
      <Section title={t("training.sample")}>
        <p className="rounded-lg border border-line border-dashed p-4 text-ink-3 text-sm">
          {t("training.sampleLater")}
        </p>
      </Section>
    );
  return (
    <>
      <Section title={t("training.model")}>
        <Panel className="px-4 py-3 text-sm">
          {model ? <ModelLine model={model} /> : <p className="text-ink-3">{t("training.modelDeleted")}</p>}
        </Panel>
      </Section>
      {picture && (
        <Section title={t("training.sample")}>
          <Sample
            src={contentPath(it.id, picture.id)}
            label={t("training.sampleAlt")}
            unread={t("training.sampleUnread")}
          />
        </Section>
      )}
      {artifacts.length > 0 && <Files it={it} artifacts={artifacts} />}
    </>
  );
}

function ModelLine({ model }: { model: Model }) {
  const { t } = useText();
  const { bytes } = useFormat();
  return (
    <>
      <Link
        to="/models/$id"
        params={{ id: model.id }}
        className="block truncate font-medium text-ultra hover:underline"
      >
        {model.name}
      </Link>
      <p className="num text-ink-3 text-xs">
        {t("training.modelSize", { size: bytes(model.bytes), base: model.base_model })}
      </p>
    </>
  );
}

function Files({ it, artifacts }: { it: Job; artifacts: readonly Artifact[] }) {
  const { t } = useText();
  const { bytes } = useFormat();
  return (
    <Section title={t("training.results")}>
      <Panel>
        <ul>
          {artifacts.map((one) => (
            <li
              key={one.id}
              className="flex items-center justify-between gap-3 border-line border-b px-4 py-1.5 last:border-b-0"
            >
              <span className="min-w-0 truncate font-mono text-xs">{one.name}</span>
              <span className="flex items-center gap-1">
                <span className="num whitespace-nowrap text-ink-3 text-xs">{bytes(one.bytes)}</span>
                <a
                  href={contentPath(it.id, one.id)}
                  download={one.name}
                  aria-label={t("training.download", { name: one.name })}
                  className="grid size-7 place-items-center rounded-md text-ink-2 hover:bg-wash hover:text-ink max-md:size-10"
                >
                  <Download className="size-4" aria-hidden="true" />
                </a>
              </span>
            </li>
          ))}
        </ul>
      </Panel>
    </Section>
  );
}
