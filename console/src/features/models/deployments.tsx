import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { storages } from "@/api/catalogue";
import type { Deployment, DeploymentState, Model } from "@/api/generated/types";
import { deployments } from "@/api/models";
import { useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { Button } from "@/ui/button";
import { Empty, Section } from "@/ui/page";
import { type Mark, StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { DeploymentMenu } from "./deployment-menu";

const LayDialog = drawnLater(() => import("./lay"));

/** No event tells of deployments: one that is on its way is asked for, in milliseconds. */
const LOOK = 2000;

const marks: Record<DeploymentState, Mark> = {
  pending: "moves",
  deployed: "runs",
  failed: "failed",
  deleting: "moves",
};

const moves = ({ state }: Deployment) => state === "pending" || state === "deleting";

export function Deployments({ it, open }: { it: Model; open: "lay" | undefined }) {
  const { t } = useText();
  const { items } = useLoaded(deployments(it.id));
  useQuery({ ...deployments(it.id), refetchInterval: items.some(moves) && LOOK });
  const navigate = useNavigate();
  const reason = useWhyNot("jobs.write");
  const show = (dialog: "lay" | undefined) =>
    void navigate({
      to: "/models/$id",
      params: { id: it.id },
      search: dialog ? { open: dialog } : {},
      replace: true,
      resetScroll: false,
    });
  return (
    <Section
      title={t("models.laid")}
      hint={items.length > 0 && t("models.laidHint")}
      actions={
        items.length > 0 && (
          <Button disabled={reason} onClick={() => show("lay")}>
            {t("models.lay")}
          </Button>
        )
      }
    >
      <Rows
        it={it}
        items={items}
        empty={
          <Empty
            title={t("models.nowhere")}
            actions={
              <Button disabled={reason} onClick={() => show("lay")}>
                {t("models.lay")}
              </Button>
            }
          >
            {t("models.nowhereHint")}
          </Empty>
        }
      />
      {open === "lay" && !reason && <LayDialog it={it} onClose={() => show(undefined)} />}
    </Section>
  );
}

function Rows({ it, items, empty }: { it: Model; items: readonly Deployment[]; empty: ReactNode }) {
  const { t, language } = useText();
  const { relative } = useFormat();
  const now = useNow();
  const { data: volumes } = useQuery(storages);
  const volumeOf = (one: Deployment) => volumes?.find((volume) => volume.id === one.storage_id);
  const nameOf = (one: Deployment) => (volumes ? (volumeOf(one)?.name ?? t("models.layGone")) : "…");
  const place = (one: Deployment) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium">
        {nameOf(one)}
        <span className="ml-1.5 font-normal text-ink-3 text-xs">{volumeOf(one)?.datacenter}</span>
      </span>
      <span className="block break-all font-mono text-ink-3 text-xs">{one.path}</span>
    </span>
  );
  const state = (one: Deployment) => (
    <StateMark
      mark={marks[one.state]}
      reason={
        one.reason && (language === "en" && one.message ? one.message : t(`models.reason_${one.reason}`))
      }
    >
      {t(`models.${one.state}`)}
    </StateMark>
  );
  const menu = (one: Deployment) => <DeploymentMenu it={it} one={one} storage={nameOf(one)} />;
  const columns: Column<Deployment>[] = [
    { key: "volume", label: t("models.volume"), width: "minmax(12rem, 2.6fr)", cell: place },
    { key: "state", label: t("models.state"), width: "minmax(7rem, 1fr)", cell: state },
    {
      key: "when",
      label: t("models.when"),
      width: "6.5rem",
      cell: (one) => (
        <span className="num text-ink-2 text-sm">{relative(one.finished_at ?? one.created_at, now)}</span>
      ),
    },
    { key: "actions", label: t("models.forget"), hiddenLabel: true, width: "1.75rem", end: true, cell: menu },
  ];
  return (
    <Table
      label={t("models.laid")}
      items={items}
      columns={columns}
      rowKey={(one) => one.id}
      empty={empty}
      narrow={(one) => (
        <div className="flex items-start justify-between gap-3">
          <span className="min-w-0 space-y-1.5">
            {place(one)}
            {state(one)}
          </span>
          {menu(one)}
        </div>
      )}
    />
  );
}
