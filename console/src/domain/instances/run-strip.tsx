import type { Instance } from "@/api/generated/types";
import type { EndedRuns } from "@/api/instances/queries";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { lastDay } from "./strip";

const WIDTH = 144;
const MINUTE = 60_000;

/** The last 24 hours as a ruled line, with the billed runs inked in. */
export function RunStrip({ it, ended }: { it: Instance; ended: EndedRuns | undefined }) {
  const { t } = useText();
  const { clock, minutes } = useFormat();
  // the ink moves by the minute
  const now = Math.floor(useNow() / MINUTE) * MINUTE;
  if (!ended) return <span className="block h-4" />;
  const day = lastDay(it, ended, now);
  const x = (part: number) => Math.round(part * WIDTH * 10) / 10;
  const duration = minutes(day.seconds);
  const words =
    day.known > 0 && ended.known_since
      ? t("instances.ranSome", { duration, when: clock(ended.known_since) })
      : day.seconds > 0
        ? t("instances.ran", { duration })
        : t("instances.ranNot");
  return (
    <svg role="img" viewBox={`0 0 ${WIDTH} 16`} className="h-4 w-36 max-w-full" aria-label={words}>
      <title>{words}</title>
      <path
        d={`M${x(day.known)} 15.5H${WIDTH}M${[0.25, 0.5, 0.75].map((at) => `${x(at)} 12V16`).join("M")}M.5 12V16M${WIDTH - 0.5} 12V16`}
        className="stroke-line-strong"
        fill="none"
      />
      {day.known > 0 && (
        <path
          d={`M0 15.5H${x(day.known)}`}
          strokeDasharray="2 3"
          className="stroke-line-strong"
          fill="none"
        />
      )}
      {day.pieces.map((piece) => (
        <rect
          key={piece.from}
          x={x(piece.from)}
          width={Math.max(1.5, x(piece.to) - x(piece.from))}
          y={3}
          height={12}
          className={piece.open ? "fill-viridian" : "fill-viridian opacity-60"}
        />
      ))}
    </svg>
  );
}
