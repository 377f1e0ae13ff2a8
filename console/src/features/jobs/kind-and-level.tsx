import { useNavigate } from "@tanstack/react-router";
import type { JobKind, JobLevel } from "@/api/generated/types";
import type { JobSearch } from "@/domain/jobs/filter";
import { useText } from "@/i18n";
import { Select } from "@/ui/select";

const kinds = ["generation", "training", "batch"] as const satisfies JobKind[];
const levels = ["urgent", "ordinary", "background"] as const satisfies JobLevel[];
const ANY = "any";

export default function KindAndLevel({ search }: { search: JobSearch }) {
  const { t } = useText();
  const navigate = useNavigate();
  const go = (change: JobSearch) =>
    void navigate({ to: "/jobs", search: { ...search, ...change }, replace: true });
  return (
    <>
      <span className="w-32 max-md:flex-1">
        <Select<JobKind | typeof ANY>
          small
          label={t("jobs.kind")}
          value={search.kind ?? ANY}
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
          value={search.level ?? ANY}
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
