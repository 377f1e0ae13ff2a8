import { lazy, Suspense } from "react";
import type { Artifact, Job } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { useText } from "@/i18n";
import { Panel, Section } from "@/ui/page";

const LossChart = lazy(() => import("./loss"));

/** What the trainer leaves beside the model. */
const FILE = "loss.csv";

export function LossSection({ it, artifacts }: { it: Job; artifacts: readonly Artifact[] | undefined }) {
  const { t } = useText();
  const file = artifacts?.find((one) => one.name === FILE);
  if (hasEnded(it) && it.state !== "succeeded") return null;
  const space = <Panel className="h-73">{null}</Panel>;
  return (
    <Section title={t("training.loss")} hint={file && t("training.lossHint")}>
      {file ? (
        <Suspense fallback={space}>
          <LossChart id={it.id} file={file} />
        </Suspense>
      ) : it.state === "succeeded" && !artifacts ? (
        space
      ) : (
        <Panel className="flex gap-3 p-4 text-ink-2 text-sm">
          <span aria-hidden="true">–</span>
          {hasEnded(it) ? t("training.lossNone") : t("training.lossLater")}
        </Panel>
      )}
    </Section>
  );
}
