import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import type { InstanceId } from "@/api/generated/types";
import { attempts } from "@/api/instances/details";
import { instance } from "@/api/instances/queries";
import { useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { readSetting, writeSetting } from "@/lib/setting";
import { ErrorLine } from "@/ui/error";
import { Empty, Panel } from "@/ui/page";
import { search as find, type Stamp, stamps } from "./buffer";
import { useLog } from "./follow";
import { Lines } from "./lines";
import { Toolbar } from "./toolbar";

const Attempts = lazy(() => import("./attempts"));

/** What the instance writes, followed while the reader is at its end. */
export function LogPage({
  id,
  attempt,
  search,
}: {
  id: InstanceId;
  attempt: number | undefined;
  search: string;
}) {
  const { t } = useText();
  const it = useLoaded(instance(id));
  const { data: kept } = useQuery(attempts(id));
  const navigate = useNavigate();
  // a stopped instance has no present log: its newest kept one is shown
  const newest = kept?.[0]?.attempt;
  const isStopped = it.state === "stopped" || it.state === "stopping";
  const shown = attempt ?? (isStopped ? newest : undefined);
  const { log, state } = useLog(id, shown);
  const [stamp, setStamp] = useState<Stamp>(
    () => stamps.find((one) => one === readSetting("log-times")) ?? "local",
  );
  const [wrap, setWrap] = useState(readSetting("log-wrap") !== "off");
  const [at, setAt] = useState(0);
  const found = find(log.lines, search);
  const go = (next: { attempt?: number | undefined; search?: string }) =>
    void navigate({
      to: "/instances/$id/log",
      params: { id },
      search: { ...(attempt && { attempt }), ...(search && { search }), ...next },
      replace: true,
      resetScroll: false,
    });
  const current = found.length === 0 ? null : (found[Math.min(at, found.length - 1)] ?? null);
  return (
    <>
      <Toolbar
        search={search}
        onSearch={(text) => {
          setAt(0);
          go({ search: text || "" });
        }}
        found={found.length}
        at={Math.min(at, found.length - 1)}
        onStep={(by) => setAt((old) => (old + by + found.length) % Math.max(1, found.length))}
        stamp={stamp}
        onStamp={(next) => {
          writeSetting("log-times", next);
          setStamp(next);
        }}
        wrap={wrap}
        onWrap={(next) => {
          writeSetting("log-wrap", next ? "on" : "off");
          setWrap(next);
        }}
        download={`/v1/instances/${id}/log?timestamps=true${shown ? `&attempt=${shown}` : ""}`}
        name={`${it.name}.log`}
        attempts={
          kept &&
          kept.length > 1 && (
            <Suspense>
              <Attempts kept={kept} attempt={attempt} onChange={(next) => go({ attempt: next })} />
            </Suspense>
          )
        }
      />
      {typeof state === "object" ? (
        it.log_tail || !isStopped ? (
          <ErrorLine error={state.error} />
        ) : (
          <Panel>
            <Empty title={t("instance.noLog")}>{t("instance.noLogHint")}</Empty>
          </Panel>
        )
      ) : (
        <Lines
          log={log}
          state={state}
          stamp={stamp}
          wrap={wrap}
          search={search}
          current={current}
          isRunning={!isStopped && !attempt}
        />
      )}
    </>
  );
}
