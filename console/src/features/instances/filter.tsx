import { getRouteApi } from "@tanstack/react-router";
import type { InstanceState } from "@/api/generated/types";
import type { InstanceFilter, InstanceSort } from "@/api/instances/cache";
import type { InstanceSearch } from "@/domain/instances/filter";
import { useText } from "@/i18n";
import { FilterLinks } from "@/ui/filter-links";
import { OrderSelect } from "@/ui/order-select";
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
  const asked = filter.states?.join(",") ?? "";
  /** Those that are left out are as before. */
  const search = (change: InstanceSearch): InstanceSearch => {
    const { name, state, sort } = { name: filter.name, state: asked, sort: filter.sort, ...change };
    return { ...(name && { name }), ...(state && { state }), ...(sort && { sort }) };
  };
  const choices: InstanceState[][] = [[], ...offered.map((state) => [state])];
  if (!choices.some((choice) => choice.join(",") === asked)) choices.push(filter.states ?? []);
  return (
    <div className="mb-3 flex min-h-11 flex-wrap items-center gap-x-4 gap-y-2">
      <SearchField
        label={t("instances.filterName")}
        value={filter.name ?? ""}
        onChange={(name) => void navigate({ search: search({ name }), replace: true })}
      />
      <FilterLinks
        label={t("instances.filterState")}
        links={choices.map((choice) => {
          const state = choice.join(",");
          return {
            label: choice.map((one) => words[one]).join(" + ") || t("instances.allStates"),
            chosen: state === asked,
            link: { to: "/instances", search: search({ state }) },
          };
        })}
      />
      <OrderSelect<InstanceSort>
        value={filter.sort ?? "-created_at"}
        choices={[
          { value: "-created_at", label: t("instances.newest") },
          { value: "created_at", label: t("instances.oldest") },
          { value: "name", label: t("instances.byName") },
          { value: "-name", label: t("instances.byNameDown") },
        ]}
        onChange={(sort) => void navigate({ search: search({ sort }), replace: true })}
      />
    </div>
  );
}
