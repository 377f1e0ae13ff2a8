import { useVirtualizer } from "@tanstack/react-virtual";
import { clsx } from "clsx";
import { ArrowDown } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useText } from "@/i18n";
import { type Line, type Log, levelOf, pieces, type Stamp, stampOf } from "./buffer";
import type { LineState } from "./follow";

const ROW = 20;
/** So near the end counts as at the end. */
const NEAR = 24;

/** Lines of which only those in view exist. It goes on by itself only while the reader is at the end. */
export function Lines({
  log,
  state,
  stamp,
  wrap,
  search,
  current,
  isRunning,
}: {
  log: Log;
  state: Exclude<LineState, object>;
  stamp: Stamp;
  wrap: boolean;
  search: string;
  /** The match that is looked at, by its place. */
  current: number | null;
  isRunning: boolean;
}) {
  "use no memo"; // the virtualizer's functions change what they return
  const { t } = useText();
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  /** How far the reader had read when they left the end. */
  const [seen, setSeen] = useState(0);
  const { lines, next } = log;
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => box.current,
    estimateSize: () => ROW,
    overscan: 20,
    getItemKey: (index) => lines[index]?.n ?? index,
  });
  useEffect(() => {
    if (isFollowing && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  }, [isFollowing, lines, virtual]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines do not move the reader
  useEffect(() => {
    if (current === null || !search) return;
    setFollowing(false);
    setSeen((old) => (old === 0 ? next : old));
    virtual.scrollToIndex(current, { align: "center" });
  }, [current, search]);
  const leave = () => {
    const element = box.current;
    if (!element) return;
    const isEnd = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
    if (isEnd && !isFollowing) setFollowing(true);
  };
  const pause = () => {
    if (!isFollowing) return;
    setSeen(next);
    setFollowing(false);
  };
  const unread = isFollowing ? 0 : Math.max(0, next - seen);
  return (
    <div className="relative">
      <div
        ref={box}
        role="log"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
        tabIndex={0}
        aria-label={t("instance.logLabel")}
        aria-live="off"
        onScroll={leave}
        onWheel={(event) => event.deltaY < 0 && pause()}
        onTouchMove={pause}
        onPointerDown={(event) => event.target === event.currentTarget && pause()}
        onKeyDown={(event) => ["ArrowUp", "PageUp", "Home"].includes(event.key) && pause()}
        className="h-[max(20rem,calc(100dvh-22rem))] overflow-auto rounded-lg border border-line bg-sheet py-2 font-mono text-xs leading-5 -outline-offset-2"
      >
        {log.dropped && <p className="px-4 text-ink-3">{t("instance.logDropped")}</p>}
        {lines.length === 0 && state === "live" && (
          <p className="px-4 text-ink-3">{t("instance.logEmpty")}</p>
        )}
        <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ index, key, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className={clsx("absolute left-0", wrap ? "right-0" : "min-w-full")}
              style={{ transform: `translateY(${start}px)` }}
            >
              <OneLine
                line={lines[index] as Line}
                stamp={stamp}
                wrap={wrap}
                search={search}
                isCurrent={index === current}
              />
            </div>
          ))}
        </div>
      </div>
      {!isFollowing && (
        <button
          type="button"
          onClick={() => setFollowing(true)}
          className="num -translate-x-1/2 absolute bottom-4 left-1/2 inline-flex h-8 cursor-pointer items-center gap-1.5 rounded-md border border-line-strong bg-sheet px-3 font-medium text-sm shadow-float hover:bg-wash max-md:h-10"
        >
          <ArrowDown className="size-4" aria-hidden="true" />
          {unread > 0 ? t("instance.newLines", { count: unread }) : t("instance.toEnd")}
        </button>
      )}
      <p role="status" className="num mt-2 text-ink-3 text-xs">
        <StateText state={state} isFollowing={isFollowing} isRunning={isRunning} />
      </p>
    </div>
  );
}

function StateText({
  state,
  isFollowing,
  isRunning,
}: {
  state: Exclude<LineState, object>;
  isFollowing: boolean;
  isRunning: boolean;
}) {
  const { t } = useText();
  if (state === "connecting") return t("instance.logConnecting");
  if (state === "lost") return <span className="text-ochre">{t("instance.logLost")}</span>;
  if (state === "ended") return t(isRunning ? "instance.logEnded" : "instance.logWhole");
  return t(isFollowing ? "instance.logFollowing" : "instance.logPaused");
}

function OneLine({
  line,
  stamp,
  wrap,
  search,
  isCurrent,
}: {
  line: Line;
  stamp: Stamp;
  wrap: boolean;
  search: string;
  isCurrent: boolean;
}) {
  const { t } = useText();
  const level = levelOf(line.text);
  return (
    <>
      {line.gap && <p className="px-4 text-ochre">{t("instance.logGap")}</p>}
      <div
        className={clsx(
          "flex gap-4 px-4 max-md:gap-2.5 max-md:px-3",
          level === "error" && "bg-vermilion-wash text-vermilion",
          level === "warning" && "text-ochre",
          isCurrent && "bg-ultra-wash text-ink",
        )}
      >
        {stamp !== "off" && (
          <span
            className={clsx("num shrink-0 select-none", level === "error" ? "text-vermilion" : "text-ink-3")}
          >
            {stampOf(line.time, stamp).slice(0, 8)}
            <span className="max-md:hidden">{stampOf(line.time, stamp).slice(8)}</span>
          </span>
        )}
        <span
          className={clsx(
            "min-h-5",
            wrap ? "min-w-0 whitespace-pre-wrap break-words [overflow-wrap:anywhere]" : "whitespace-pre",
          )}
        >
          {pieces(line.text, search).map((piece) =>
            piece.match ? (
              <mark key={piece.at} className="rounded-sm bg-ochre-wash text-ink outline outline-ochre">
                {piece.text}
              </mark>
            ) : (
              piece.text
            ),
          )}
        </span>
      </div>
    </>
  );
}
