import { useQuery } from "@tanstack/react-query";
import { Link, type LinkProps } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useLoaded, useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Panel, Section } from "@/ui/page";
import { type Mark, Ring } from "@/ui/state";
import { health } from "../health/queries";
import { healthStanding } from "../health/standing";
import { isCarriedOut } from "../parts/tenant-standing";
import { tenants } from "../tenants/queries";
import { repairs, stockOperations } from "./queries";

interface Line {
  key: string;
  mark: Mark;
  title: string;
  detail?: ReactNode;
  link?: { to: LinkProps; label: string };
}

const DAY = 86_400_000;

/** What needs a look: modules, operations of the stock that failed, repairs of the last day, tenants on their way. */
export function Broken() {
  const { t } = useText();
  const lines = useLines();
  return (
    <Section title={t("platformOverview.needsLook")}>
      <Panel>
        {lines.length === 0 && (
          <p className="flex items-center gap-2.5 px-4 py-3 text-sm">
            <Ring mark="runs" />
            {t("platformOverview.allWell")}
          </p>
        )}
        <ul>
          {lines.map((line) => (
            <li
              key={line.key}
              className="grid min-h-9 grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-2.5 border-line border-b px-4 py-1.5 text-sm last:border-b-0"
            >
              <Ring mark={line.mark} />
              <span className="min-w-0">
                <span className="font-medium">{line.title}</span>{" "}
                <span className="text-ink-2">{line.detail}</span>
              </span>
              {line.link && (
                <Link {...line.link.to} className="text-ultra hover:underline">
                  {line.link.label}
                </Link>
              )}
            </li>
          ))}
        </ul>
      </Panel>
    </Section>
  );
}

function useLines(): Line[] {
  const { t } = useText();
  const { relative, day } = useFormat();
  const now = useNow();
  const { modules } = useLoaded(health);
  const { data: fixed } = useQuery(repairs);
  const { data: operations } = useQuery(stockOperations);
  const all = useLoadedPages(tenants());
  const leaving = all.data.pages
    .flatMap((page) => page.items)
    .filter((it) => it.state === "deleting" || !isCarriedOut(it));
  const recent = fixed?.items.filter((it) => now - Date.parse(it.at) < DAY) ?? [];
  const failed = operations?.items.filter((it) => it.state === "failed") ?? [];
  const toStock = { to: { to: "/admin/stock" }, label: t("platformOverview.look") } as const;
  const toHealth = { to: { to: "/admin/health" }, label: t("platformOverview.look") } as const;
  return [
    ...modules
      .filter((it) => it.state !== "ok")
      .map((it) => ({
        key: it.name,
        mark: healthStanding[it.state].mark,
        title: it.name,
        detail: it.last_error?.message ?? t(healthStanding[it.state].word),
        link: toHealth,
      })),
    ...failed.map((it) => ({
      key: it.id,
      mark: "failed" as const,
      title: t("platformOverview.operationFailed", { time: relative(it.created_at, now) }),
      detail: it.problem?.detail ?? it.progress.message ?? it.kind,
      link: toStock,
    })),
    ...leaving.map((it) => ({
      key: it.id,
      mark: "moves" as const,
      title: it.name,
      detail: it.delete_storages_at
        ? t("platformOverview.deletedUntil", { day: day(it.delete_storages_at) })
        : t("platform.tenantSuspending"),
      link: {
        to: { to: "/admin/tenants/$id", params: { id: it.id } } as LinkProps,
        label: t("platformOverview.look"),
      },
    })),
    ...(recent.length > 0
      ? [
          {
            key: "repairs",
            mark: "moves" as const,
            title: t("platformOverview.repairs", { count: recent.length }),
            detail: recent[0]?.detail,
            link: toStock,
          },
        ]
      : []),
  ];
}
