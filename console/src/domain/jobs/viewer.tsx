import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Download, X } from "lucide-react";
import type { KeyboardEvent } from "react";
import type { Artifact, Job } from "@/api/generated/types";
import { contentPath, pictureText } from "@/api/jobs/picture-text";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ButtonAnchor, ButtonLink, IconButton } from "@/ui/button";
import { useAsked } from "./asked";
import { CostCell } from "./cost";
import { AskedFacts, FactLine } from "./facts";
import { parametersOf, withText } from "./parameters";
import { Picture } from "./picture";

export interface Shown {
  job: Job;
  artifact: Artifact;
}

/** One picture over the whole window, with how it was made. */
export default function Viewer({
  pictures,
  at,
  here,
  onGo,
  onClose,
}: {
  pictures: readonly Shown[];
  at: number;
  /** On the page of its job. */
  here?: boolean;
  onGo: (at: number) => void;
  onClose: () => void;
}) {
  const { t } = useText();
  const shown = pictures[at];
  const count = pictures.length;
  const step = (by: 1 | -1) => {
    const next = at + by;
    if (next >= 0 && next < count) onGo(next);
  };
  const press = (event: KeyboardEvent) => {
    const by = ({ ArrowLeft: -1, ArrowRight: 1 } as const)[event.key];
    if (!by) return;
    event.preventDefault();
    step(by);
  };
  if (!shown) return null;
  const { job, artifact } = shown;
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Popup
          onKeyDown={press}
          className="fixed inset-0 z-20 grid bg-paper outline-none max-md:overflow-y-auto md:grid-cols-[minmax(0,1fr)_20rem]"
        >
          <div className="relative grid min-h-0 place-items-center bg-wash p-6 max-md:min-h-[55dvh] max-md:p-3">
            <Picture
              key={artifact.id}
              job={job.id}
              artifact={artifact}
              alt={t("jobs.pictureN", { n: at + 1 })}
              className="max-h-[calc(100dvh-3rem)] max-w-full rounded-sm object-contain max-md:max-h-[70dvh]"
            />
            <Step side="left" label={t("jobs.previous")} isEnd={at === 0} onStep={() => step(-1)} />
            <Step side="right" label={t("jobs.next")} isEnd={at === count - 1} onStep={() => step(1)} />
          </div>
          <aside className="flex min-h-0 flex-col border-line border-l bg-sheet max-md:border-t max-md:border-l-0 md:overflow-y-auto">
            <header className="flex items-start justify-between gap-2 px-5 pt-4">
              <div className="min-w-0">
                <Dialog.Title className="num font-medium text-lg">
                  {t("jobs.viewer", { n: at + 1, count })}
                </Dialog.Title>
                <p className="text-ink-3 text-xs max-md:hidden">{t("jobs.keysHint")}</p>
              </div>
              <Dialog.Close render={<IconButton label={t("jobs.close")} />}>
                <X className="size-4" aria-hidden="true" />
              </Dialog.Close>
            </header>
            <Side {...shown} here={here} />
          </aside>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function Step({
  side,
  label,
  isEnd,
  onStep,
}: {
  side: "left" | "right";
  label: string;
  isEnd: boolean;
  onStep: () => void;
}) {
  const Icon = side === "left" ? ChevronLeft : ChevronRight;
  if (isEnd) return null;
  return (
    <button
      type="button"
      aria-label={label}
      onClick={onStep}
      className={`-translate-y-1/2 absolute top-1/2 grid size-10 cursor-pointer place-items-center rounded-full border border-line bg-sheet text-ink hover:border-line-strong ${side === "left" ? "left-3" : "right-3"}`}
    >
      <Icon className="size-5" aria-hidden="true" />
    </button>
  );
}

function Side({ job, artifact, here }: Shown & { here: boolean | undefined }) {
  const { t } = useText();
  const { time } = useFormat();
  const { order } = useAsked(job);
  const { data: written, isLoading } = useQuery(pictureText(job.id, artifact));
  const known = withText(parametersOf(order), written);
  return (
    <div className="flex flex-1 flex-col gap-4 px-5 py-4">
      <div className="grid grid-cols-2 gap-2">
        <span className="col-span-2 grid">
          <ButtonLink to="/jobs/new" search={{ like: job.id, picture: artifact.id }}>
            {t("jobs.useAsNew")}
          </ButtonLink>
        </span>
        <ButtonLink to="/jobs/new" search={{ like: job.id, picture: artifact.id, begin: artifact.id }}>
          {t("jobs.variation")}
        </ButtonLink>
        <ButtonAnchor href={contentPath(job.id, artifact.id)} download={artifact.name}>
          <Download className="size-4" aria-hidden="true" />
          {t("jobs.download")}
        </ButtonAnchor>
      </div>
      {isLoading && !known ? (
        <p className="text-ink-3 text-sm">{t("ui.loading")}…</p>
      ) : (
        <AskedFacts known={known} />
      )}
      <dl className="border-line border-t pt-2 text-sm">
        <FactLine label={t("jobs.cost")}>
          <CostCell it={job} />
        </FactLine>
        <FactLine label={t("jobs.finished")}>{time(artifact.created_at)}</FactLine>
        <FactLine label={t("jobs.keptIn")}>job-outputs</FactLine>
      </dl>
      {!here && (
        <ButtonLink kind="quiet" className="self-start" to="/jobs/$id" params={{ id: job.id }}>
          {t("jobs.toJob")}
          <ChevronRight className="size-4" aria-hidden="true" />
        </ButtonLink>
      )}
    </div>
  );
}
