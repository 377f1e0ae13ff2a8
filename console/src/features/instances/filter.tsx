import { getRouteApi } from "@tanstack/react-router";
import type { InstanceState } from "@/api/generated/types";
import type { InstanceFilter } from "@/api/instances/cache";
import { useText } from "@/i18n";
import { FilterLinks } from "@/ui/filter-links";
import { SearchField } from "@/ui/search-field";

const route = getRouteApi("/_app/instances/");

/** Those that people look for; others, and several, can be given in the address. */
const offered = ["running", "pending", "starting", "stopped"] as const satisfies InstanceState[];

export function Filter({ filter }: { filter: InstanceFilter }) {
  const { t } = useText();
  const navigate = route.useNavigate();
  const words: Record<InstanceState, string> = {
    pending: t("instances.pending"),
    starting: t("instances.starting"),
    running: t("instances.running"),
    stopping: t("instances.stopping"),
    stopped: t("instances.stopped"),
    deleting: t("instances.deleting"),
  };
  const name = filter.name || undefined;
  const asked = filter.states?.join(",") ?? "";
  const choices: InstanceState[][] = [[], ...offered.map((state) => [state])];
  if (!choices.some((choice) => choice.join(",") === asked)) choices.push(filter.states ?? []);
  return (
    <div className="mb-3 flex min-h-11 flex-wrap items-center gap-x-4 gap-y-2">
      <SearchField
        label={t("instances.filterName")}
        value={filter.name ?? ""}
        onChange={(next) =>
          void navigate({
            search: { ...(next && { name: next }), ...(asked && { state: asked }) },
            replace: true,
          })
        }
      />
      <FilterLinks
        label={t("instances.filterState")}
        links={choices.map((choice) => {
          const state = choice.join(",");
          return {
            label: choice.map((one) => words[one]).join(" + ") || t("instances.allStates"),
            chosen: state === asked,
            link: { to: "/instances", search: { ...(name && { name }), ...(state && { state }) } },
          };
        })}
      />
    </div>
  );
}
