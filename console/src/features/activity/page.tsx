import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { storages } from "@/api/catalogue";
import { people } from "@/api/instances/details";
import { instances } from "@/api/instances/queries";
import { useLoadedPages } from "@/api/query";
import { useTenant } from "@/app/needs-tenant";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";
import { FilterLinks } from "@/ui/filter-links";
import { Empty, PageHead, Panel } from "@/ui/page";
import { type Area, areas } from "./areas";
import { EntryRow, type Names } from "./entry";
import { activity } from "./queries";

const route = getRouteApi("/_app/activity");

export function ActivityPage() {
  const { t } = useText();
  const isHidden = Boolean(useWhyNot("audit.read"));
  return (
    <>
      <PageHead title={t("activity.title")}>{t("activity.intro")}</PageHead>
      {isHidden ? (
        <Panel>
          <Empty
            title={t("activity.notYours")}
            actions={<ButtonLink to="/members">{t("activity.whoOwns")}</ButtonLink>}
          >
            {t("activity.notYoursHint")}
          </Empty>
        </Panel>
      ) : (
        <Entries />
      )}
    </>
  );
}

function Entries() {
  const { t } = useText();
  const { area, services = false, open } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(activity(area, services));
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
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-6 gap-y-1">
        <FilterLinks
          label={t("activity.area")}
          links={[undefined, ...areas].map((one) => ({
            label: one ? words[one] : t("activity.all"),
            link: { to: "/activity", search: searchOf({ area: one, services }) },
            chosen: area === one,
          }))}
        />
        <FilterLinks
          label={t("activity.by")}
          links={[false, true].map((one) => ({
            label: one ? t("activity.byServicesToo") : t("activity.byPersons"),
            link: { to: "/activity", search: searchOf({ area, services: one }) },
            chosen: services === one,
          }))}
        />
      </div>
      <Panel>
        {items.length === 0 && <Empty title={t("activity.none")}>{t("activity.noneHint")}</Empty>}
        <ol aria-label={t("activity.title")}>
          {items.map((entry) => {
            const key = `${entry.log}-${entry.number}`;
            const isOpen = open === key;
            return (
              <EntryRow
                key={key}
                entry={entry}
                names={names}
                isOpen={isOpen}
                onOpen={() =>
                  void navigate({
                    search: { ...searchOf({ area, services }), ...(!isOpen && { open: key }) },
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

const searchOf = ({ area, services }: { area: Area | undefined; services: boolean }) => ({
  ...(area && { area }),
  ...(services && { services }),
});

/** Names for the ids in entries, as far as they are known. */
function useNames(): Names {
  const { data: members } = useQuery(people(useTenant()));
  const { data: own } = useInfiniteQuery(instances());
  const { data: kept } = useQuery(storages);
  const known = own?.pages.flatMap((page) => page.items) ?? [];
  return new Map<string, string>([
    ...(members ?? []),
    ...[...known, ...(kept ?? [])].map((it) => [it.id, it.name] as const),
  ]);
}
