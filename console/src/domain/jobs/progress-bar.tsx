import type { Job } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { formatAbout } from "@/lib/time";
import { partOf, secondsLeft } from "./progress";

/** How far a job is that runs, as a ruled bar and in words. */
export function ProgressBar({ it, name }: { it: Job; name: string }) {
  const part = partOf(it);
  const value = part === null ? undefined : Math.round(part * 100);
  return (
    <span className="block min-w-0">
      <span
        role="progressbar"
        aria-label={name}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={value}
        className="my-1 block h-1 overflow-hidden rounded-full bg-wash"
      >
        <span className="block h-full bg-viridian" style={{ width: `${value ?? 0}%` }} />
      </span>
      <span className="num block truncate text-ink-3 text-xs">
        <ProgressText it={it} />
      </span>
    </span>
  );
}

export function ProgressText({ it }: { it: Job }) {
  const { t } = useText();
  const now = useNow();
  const { progress } = it;
  if (!progress || progress.phase === "loading") return t("jobs.loading");
  if (progress.phase === "uploading") return t("jobs.uploading");
  const { step, steps } = progress;
  const left = secondsLeft(it, now);
  return left === null
    ? t("jobs.step", { step, steps })
    : t("jobs.stepSoon", { step, steps, time: formatAbout(left) });
}
