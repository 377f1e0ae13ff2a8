import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { clsx } from "clsx";
import { useState } from "react";
import type { LogLevel, PlatformLogLine } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ErrorLine } from "@/ui/error";
import { Checkbox } from "@/ui/field";
import { FilterBar } from "@/ui/filter-links";
import { Empty, Panel } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { Select } from "@/ui/select";
import { levels } from "./levels";
import { health, platformLogs } from "./queries";

const route = getRouteApi("/_app/admin/health/logs");

/** While followed and seen, in milliseconds. */
const SOON = 2000;

export function LogsPage() {
  const { t } = useText();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { modules } = useLoaded(health);
  const [follows, setFollows] = useState(false);
  const { data, error } = useQuery({
    ...platformLogs(search),
    placeholderData: keepPreviousData,
    refetchInterval: follows ? SOON : false,
  });
  const filter = (change: Partial<typeof search>) =>
    void navigate({ search: (old) => ({ ...old, ...change }), replace: true });
  return (
    <>
      <FilterBar>
        <span className="w-40 max-md:w-full">
          <Select
            label={t("health.module")}
            value={search.module ?? ""}
            onChange={(module) => filter({ module: module || undefined })}
            choices={[
              { value: "", label: t("health.allModules") },
              ...modules.map((it) => ({ value: it.name, label: it.name })),
            ]}
          />
        </span>
        <span className="w-40 max-md:w-full">
          <Select<LogLevel | "">
            label={t("health.level")}
            value={search.level ?? ""}
            onChange={(level) => filter({ level: level || undefined })}
            choices={[
              { value: "", label: t("health.allLevels") },
              ...levels.map((level) => ({ value: level, label: level })),
            ]}
          />
        </span>
        <SearchField
          label={t("health.requestId")}
          value={search.request ?? ""}
          onChange={(request) => filter({ request: request || undefined })}
        />
        <Checkbox
          checked={follows}
          onChange={(event) => setFollows(event.target.checked)}
          label={t("health.follow")}
        />
      </FilterBar>
      {error && <ErrorLine error={error} className="mb-3" />}
      {data && data.unreachable.length > 0 && (
        <p role="status" className="mb-3 text-ochre text-sm">
          {t("health.silent", {
            names: data.unreachable.map((it) => `${it.module} ${it.replica}`).join(t("platform.comma")),
          })}
        </p>
      )}
      {data && <Lines items={data.items} />}
    </>
  );
}

const tones: Record<LogLevel, string> = {
  error: "font-medium text-vermilion",
  warn: "font-medium text-ochre",
  info: "text-ink-2",
  debug: "text-ink-3",
  trace: "text-ink-3",
};

function Lines({ items }: { items: readonly PlatformLogLine[] }) {
  const { t } = useText();
  const { seconds } = useFormat();
  return (
    <Panel>
      {items.length === 0 && <Empty title={t("health.noLines")}>{t("health.noLinesHint")}</Empty>}
      <ol
        aria-label={t("health.logs")}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-[70dvh] overflow-y-auto font-mono text-xs -outline-offset-2"
      >
        {items.map((it, i) => (
          <li
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else to be known by
            key={i}
            className={clsx(
              "grid grid-cols-[auto_auto_minmax(0,1fr)] gap-x-3 border-line border-b px-4 py-1 last:border-b-0 max-md:py-1.5 md:grid-cols-[7.5rem_3rem_7rem_minmax(0,1fr)]",
              it.level === "error" && "bg-vermilion-wash",
            )}
          >
            <span className="num text-ink-3">{seconds(it.time)}</span>
            <span className={tones[it.level]}>{it.level}</span>
            <span className="truncate text-ink-2" title={it.replica}>
              {it.module}
            </span>
            <span className="break-words max-md:col-span-3">
              {it.message}
              <span className="text-ink-3">
                {Object.entries(it.fields).map(
                  ([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
                )}
                {it.request_id && ` request=${it.request_id}`}
              </span>
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}
