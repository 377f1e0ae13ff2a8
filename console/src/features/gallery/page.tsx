import { useQueries } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { artifacts, pictureJobs } from "@/api/jobs/queries";
import { useLoadedPages } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { isPicture } from "@/domain/jobs/picture";
import type { Shown } from "@/domain/jobs/viewer";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { Button, ButtonLink } from "@/ui/button";
import { Empty, PageHead, Panel } from "@/ui/page";
import { JobTiles } from "./tiles";

const Viewer = drawnLater(() => import("@/domain/jobs/viewer"));

const route = getRouteApi("/_app/gallery");

export function GalleryPage() {
  const { t } = useText();
  const reason = useWhyNot("jobs.write");
  const { picture } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(pictureJobs);
  const items = list.data.pages.flatMap((page) => page.items);
  // what was asked for by the tiles that have been seen, without asking for more
  const made = useQueries({ queries: items.map((it) => ({ ...artifacts(it.id), enabled: false })) });
  const pictures: Shown[] = items.flatMap((job, i) =>
    (made[i]?.data ?? []).filter(isPicture).map((artifact) => ({ job, artifact })),
  );
  const at = pictures.findIndex(({ artifact }) => artifact.id === picture);
  const go = (next: string | undefined) =>
    void navigate({ search: next ? { picture: next } : {}, replace: true, resetScroll: false });
  const make = t("jobs.newPictures");
  return (
    <>
      <PageHead
        title={t("jobs.gallery")}
        actions={
          reason ? (
            <Button kind="primary" disabled={reason}>
              {make}
            </Button>
          ) : (
            <ButtonLink kind="primary" to="/jobs/new">
              {make}
            </ButtonLink>
          )
        }
      >
        {pictures.length > 0 &&
          t("jobs.gallerySentence", {
            count: pictures.length,
            jobs: t("jobs.countJobs", { count: made.filter((it) => it.data).length }),
          })}
      </PageHead>
      {items.length === 0 ? (
        <Panel>
          <Empty title={t("jobs.galleryEmpty")}>{t("jobs.galleryEmptyHint")}</Empty>
        </Panel>
      ) : (
        <ul
          aria-label={t("jobs.gallery")}
          className="flex flex-wrap gap-2 after:grow-[1000] after:content-['']"
        >
          {items.map((it) => (
            <JobTiles key={it.id} it={it} isWanted={picture !== undefined && at < 0} />
          ))}
        </ul>
      )}
      {list.hasNextPage && (
        <End
          key={items.length}
          isLoading={list.isFetchingNextPage}
          onSeen={() => void list.fetchNextPage()}
        />
      )}
      {at >= 0 && (
        <Viewer
          pictures={pictures}
          at={at}
          onGo={(next) => go(pictures[next]?.artifact.id)}
          onClose={() => go(undefined)}
        />
      )}
    </>
  );
}

/** Asks for the next page when it comes into view. */
function End({ isLoading, onSeen }: { isLoading: boolean; onSeen: () => void }) {
  const { t } = useText();
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!ref.current) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((it) => it.isIntersecting)) onSeen();
      },
      { rootMargin: "400px" },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [onSeen]);
  return (
    <div ref={ref} className="py-6 text-center text-ink-3 text-sm">
      {isLoading && t("jobs.loadingMore")}
    </div>
  );
}
