import type { JobProblem } from "@/api/generated/types";
import { type PlainKey, useText } from "@/i18n";

const problems = [
  "invalid_parameters",
  "max_cost_reached",
  "model_missing",
  "input_missing",
  "out_of_memory",
  "storage_full",
  "quota_exceeded",
] as const;

/** What failed and what to do next, by the code of the API. */
export function adviceOf({ code }: JobProblem): PlainKey {
  const known = problems.find((one) => one === code.replaceAll("-", "_"));
  return known ? `training.problem_${known}` : "training.problem_other";
}

/** Why there is no model, and what to do next. */
export function Failed({ problem }: { problem: JobProblem }) {
  const { t } = useText();
  return (
    <section
      aria-label={t("training.problem")}
      className="mb-6 rounded-lg border border-vermilion bg-vermilion-wash px-4 py-3 text-sm"
    >
      <h2 className="font-medium text-base text-vermilion">{t("training.problem")}</h2>
      <p className="mt-0.5">{t(adviceOf(problem))}</p>
      <p className="mt-1 break-words text-ink-2">
        {t("training.saidByWorker", { message: problem.message })}
      </p>
    </section>
  );
}
