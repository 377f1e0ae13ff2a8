import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Outlet } from "@tanstack/react-router";
import type { Storage, StorageId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useLoaded } from "@/api/query";
import { storage } from "@/api/storages/queries";
import { StorageDialogs } from "@/domain/storages/dialogs";
import { standingOf } from "@/domain/storages/standing";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { Empty, PageHead, Panel, TabLinks } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { Facts } from "./facts";
import { HeadActions } from "./head-actions";
import { Sentence } from "./sentence";
import { useOpen } from "./use-open";

const route = getRouteApi("/_app/storages/$id");

/** Head, facts and tabs; the tab below has its own address. */
export function StorageLayout() {
  const { t } = useText();
  const id = route.useParams().id as StorageId;
  const { open } = route.useSearch();
  const show = useOpen();
  const it = useLoaded(storage(id));
  const { error } = useQuery(storage(id));
  const isGone = error instanceof ApiError && error.status === 404;
  if (isGone) return <Gone it={it} />;
  const standing = standingOf(it);
  const link = { params: { id } } as const;
  return (
    <>
      <PageHead
        title={it.name}
        up={{ label: t("storages.title"), link: { to: "/storages" } }}
        mark={
          <span role="status">
            <StateMark mark={standing.mark}>{t(standing.word)}</StateMark>
          </span>
        }
        actions={<HeadActions it={it} onAct={show} />}
      >
        <Sentence it={it} />
      </PageHead>
      <Facts it={it} />
      <TabLinks
        label={t("storages.tabs", { name: it.name })}
        tabs={[
          { label: t("storages.overview"), link: { to: "/storages/$id", ...link } },
          ...(it.kind === "bucket"
            ? [{ label: t("storages.s3Keys"), link: { to: "/storages/$id/keys", ...link } } as const]
            : []),
          { label: t("storages.operations"), link: { to: "/storages/$id/operations", ...link } },
          { label: t("storages.settings"), link: { to: "/storages/$id/settings", ...link } },
        ]}
      />
      <Outlet />
      <StorageDialogs action={open} it={it} onClose={() => show(undefined)} />
    </>
  );
}

function Gone({ it }: { it: Storage }) {
  const { t } = useText();
  return (
    <>
      <PageHead title={it.name} up={{ label: t("storages.title"), link: { to: "/storages" } }} />
      <Panel>
        <Empty
          title={t("storages.gone", { name: it.name })}
          actions={<ButtonLink to="/storages">{t("storages.toList")}</ButtonLink>}
        >
          {t("storages.goneHint")}
        </Empty>
      </Panel>
    </>
  );
}
