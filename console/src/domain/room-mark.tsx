import { clsx } from "clsx";
import type { Room } from "@/api/generated/types";
import { useText } from "@/i18n";

const bars: Record<Room, number> = { many: 3, few: 1, none: 0 };
const tones: Record<Room, string> = { many: "text-viridian", few: "text-ochre", none: "text-ink-3" };

/** How much is free: a ruled bar of three, with its word. */
export function RoomMark({ level, quiet }: { level: Room; quiet?: boolean }) {
  const { t } = useText();
  const words = { many: t("ui.many"), few: t("ui.few"), none: t("ui.none") };
  return (
    <span className={clsx("flex items-center gap-1.5 text-xs", quiet ? "text-ink-3" : tones[level])}>
      <svg viewBox="0 0 20 7" className="h-1.75 w-5 shrink-0" aria-hidden="true">
        {[0, 1, 2].map((i) => (
          <rect
            key={i}
            x={i * 7 + 0.5}
            y={0.5}
            width={5}
            height={6}
            fill={i < bars[level] ? "currentColor" : "none"}
            stroke="currentColor"
          />
        ))}
      </svg>
      {words[level]}
    </span>
  );
}
