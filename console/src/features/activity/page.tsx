import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { storages } from "@/api/catalogue";
import { people } from "@/api/instances/details";
import { instances } from "@/api/instances/queries";
import { useLoadedPages } from "@/api/query";
import { useMe } from "@/api/session";
import { tenantOf } from "@/app/needs-tenant";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Empty, PageHead, Panel } from "@/ui/page";
import { EntryRow, type Names } from "./entry";
import { sources } from "./merge";
import { activity } from "./queries";

const route = getRouteApi("/_app/activity");

export function ActivityPage() {
  const { t } = useText();
  const reason = useWhyNot("audit.read");
  return (
    <>
      <PageHead title={t("activity.title")}>{t("activity.intro")}</PageHead>
      {reason ? (
        <Panel>
          <Empty title={t("activity.notYours")}>{reason}</Empty>
        </Panel>
      ) : (
        <Entries />
      )}
    </>
  );
}

function Entries() {
  const { t } = useText();
  const { area, open } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(activity(area));
  const names = useNames();
  const items = list.data.pages.flatMap((page) => page.items);
  const words = {
    people: t("activity.people"),
    instances: t("activity.instances"),
    storages: t("activity.storages"),
    jobs: t("activity.jobs"),
  };
  return (
    <>
      <nav aria-label={t("activity.area")} className="mb-3 flex flex-wrap gap-1 text-sm">
        {[undefined, ...sources].map((one) => (
          <Link
            key={one ?? "all"}
            to="/activity"
            search={one ? { area: one } : {}}
            replace
            aria-current={area === one ? "true" : undefined}
            className={clsx(
              "flex h-7 items-center whitespace-nowrap rounded-md px-2.5 max-md:h-9",
              area === one ? "bg-wash font-medium text-ink" : "text-ink-2 hover:bg-wash hover:text-ink",
            )}
          >
            {one ? words[one] : t("activity.all")}
          </Link>
        ))}
      </nav>
      <Panel>
        {items.length === 0 && <Empty title={t("activity.none")}>{t("activity.noneHint")}</Empty>}
        <ol aria-label={t("activity.title")}>
          {items.map((entry) => {
            const key = `${entry.source}-${entry.number}`;
            const isOpen = open === key;
            return (
              <EntryRow
                key={key}
                entry={entry}
                names={names}
                isOpen={isOpen}
                onOpen={() =>
                  void navigate({
                    search: { ...(area && { area }), ...(!isOpen && { open: key }) },
                    replace: true,
                    resetScroll: false,
                  })
                }
              />
            );
          })}
        </ol>
      </Panel>
      {list.hasNextPage && (
        <div className="mt-3 text-center">
          <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            {t("activity.more")}
          </Button>
        </div>
      )}
    </>
  );
}

/** Names for the ids in entries, as far as they are known. */
function useNames(): Names {
  const { data: members } = useQuery(people(tenantOf(useMe())));
  const { data: own } = useInfiniteQuery(instances());
  const { data: kept } = useQuery(storages);
  const known = own?.pages.flatMap((page) => page.items) ?? [];
  return new Map<string, string>([
    ...(members ?? []),
    ...[...known, ...(kept ?? [])].map((it) => [it.id, it.name] as const),
  ]);
}
