import { useNavigate } from "@tanstack/react-router";
import type { JobKind, JobLevel } from "@/api/generated/types";
import type { JobFilter } from "@/api/jobs/cache";
import { useText } from "@/i18n";
import { Select } from "@/ui/select";

const kinds = ["generation", "training", "batch"] as const satisfies JobKind[];
const levels = ["urgent", "ordinary", "background"] as const satisfies JobLevel[];
const ANY = "any";

export default function KindAndLevel({ filter }: { filter: JobFilter }) {
  const { t } = useText();
  const navigate = useNavigate();
  const go = (change: JobFilter) =>
    void navigate({ to: "/jobs", search: { ...filter, ...change }, replace: true });
  return (
    <>
      <span className="w-32 max-md:flex-1">
        <Select<JobKind | typeof ANY>
          small
          label={t("jobs.kind")}
          value={filter.kind ?? ANY}
          choices={[
            { value: ANY, label: t("jobs.allKinds") },
            ...kinds.map((value) => ({ value, label: t(`jobs.${value}`) })),
          ]}
          onChange={(kind) => go({ kind: kind === ANY ? undefined : kind })}
        />
      </span>
      <span className="w-32 max-md:flex-1">
        <Select<JobLevel | typeof ANY>
          small
          label={t("jobs.level")}
          value={filter.level ?? ANY}
          choices={[
            { value: ANY, label: t("jobs.allLevels") },
            ...levels.map((value) => ({ value, label: t(`jobs.${value}`) })),
          ]}
          onChange={(level) => go({ level: level === ANY ? undefined : level })}
        />
      </span>
    </>
  );
}
