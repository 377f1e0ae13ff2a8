import type { Storage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useChanged } from "@/lib/use-changed";
import { StateMark } from "@/ui/state";
import { reasonOf, standingOf } from "./standing";

/** Its state in a word, and why below. A change that came by itself gets a wash that fades. */
export function StateCell({ it }: { it: Storage }) {
  const { t, language } = useText();
  const standing = standingOf(it);
  const changed = useChanged(`${it.state} ${standing.word}`);
  const reason = it.reason && reasonOf(it, t, language);
  return (
    <span
      key={changed}
      className={`-mx-1.5 block min-w-0 rounded-md px-1.5 ${changed > 0 ? "animate-[settle_1.5s_ease-out]" : ""}`}
    >
      <StateMark
        mark={standing.mark}
        reason={
          reason && (
            <span className="line-clamp-2" title={reason}>
              {reason}
            </span>
          )
        }
      >
        {t(standing.word)}
      </StateMark>
    </span>
  );
}
