import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Outlet, useNavigate } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import type { InstanceId } from "@/api/generated/types";
import { instance } from "@/api/instances/queries";
import { ApiError } from "@/api/problem";
import { useLoaded } from "@/api/query";
import { standingOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { drawnLater } from "@/lib/later";
import { ButtonLink } from "@/ui/button";
import { Empty, PageHead, Panel, TabLinks } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { notify } from "@/ui/toast";
import { Facts } from "./facts";
import { useFollow } from "./follow";
import { HeadActions } from "./head-actions";
import { StandingSentence } from "./sentence";
import { endTerminal } from "./terminal/kept";

const DeleteDialog = drawnLater(() => import("@/domain/instances/delete-dialog"));
const RenameDialog = drawnLater(() => import("./rename"));

const route = getRouteApi("/_app/instances/$id");

/** Head, facts and tabs; the tab below has its own address. */
export function InstanceLayout() {
  const { t } = useText();
  const id = route.useParams().id as InstanceId;
  const it = useLoaded(instance(id));
  const { error } = useQuery(instance(id));
  const navigate = useNavigate();
  const [open, setOpen] = useState<"rename" | "delete" | null>(null);
  useFollow(id);
  useEffect(() => () => endTerminal(id), [id]);
  const up = { label: t("instances.title"), link: { to: "/instances" } as const };
  if (error instanceof ApiError && error.status === 404)
    return (
      <>
        <PageHead title={it.name} up={up} />
        <Panel>
          <Empty
            title={t("instance.gone", { name: it.name })}
            actions={<ButtonLink to="/instances">{t("instance.toList")}</ButtonLink>}
          >
            {t("instance.goneHint")}
          </Empty>
        </Panel>
      </>
    );
  const standing = standingOf(it);
  const link = { params: { id } } as const;
  return (
    <>
      <PageHead
        title={it.name}
        up={up}
        mark={
          <span role="status">
            <StateMark mark={standing.mark}>{t(standing.word)}</StateMark>
          </span>
        }
        actions={
          <HeadActions it={it} onRename={() => setOpen("rename")} onDelete={() => setOpen("delete")} />
        }
      >
        <StandingSentence it={it} />
      </PageHead>
      <Facts it={it} />
      <TabLinks
        label={t("instance.tabs", { name: it.name })}
        tabs={[
          { label: t("instance.overview"), link: { to: "/instances/$id", ...link } },
          { label: t("instance.log"), link: { to: "/instances/$id/log", ...link } },
          { label: t("instance.terminal"), link: { to: "/instances/$id/terminal", ...link } },
          { label: t("instance.access"), link: { to: "/instances/$id/access", ...link } },
          { label: t("instance.runs"), link: { to: "/instances/$id/runs", ...link } },
          { label: t("instance.settings"), link: { to: "/instances/$id/settings", ...link } },
        ]}
      />
      <Outlet />
      {open === "rename" && <RenameDialog it={it} onClose={() => setOpen(null)} />}
      {open === "delete" && (
        <DeleteDialog
          it={it}
          onClose={() => setOpen(null)}
          onDone={() => {
            notify({ title: t("instance.deleting", { name: it.name }) });
            void navigate({ to: "/instances" });
          }}
        />
      )}
    </>
  );
}
