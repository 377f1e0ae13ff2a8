import type { Job } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Progress } from "@/ui/progress";
import { partOf, secondsLeft } from "./progress";

/** How far a job is that runs, as a ruled bar and in words. */
export function ProgressBar({ it, name }: { it: Job; name: string }) {
  const part = partOf(it);
  const text = useProgressText(it);
  return (
    <span className="block min-w-0">
      <span className="my-1 block">
        <Progress
          label={name}
          value={part === null ? undefined : Math.round(part * 100)}
          most={100}
          text={text}
        />
      </span>
      <span className="num block truncate text-ink-3 text-xs">{text}</span>
    </span>
  );
}

function useProgressText(it: Job): string {
  const { t } = useText();
  const { about } = useFormat();
  const now = useNow();
  const { progress } = it;
  if (!progress || progress.phase === "loading") return t("jobs.loading");
  if (progress.phase === "uploading") return t("jobs.uploading");
  const { step, steps } = progress;
  const left = secondsLeft(it, now);
  return left === null
    ? t("jobs.step", { step, steps })
    : t("jobs.stepSoon", { step, steps, time: about(left) });
}
