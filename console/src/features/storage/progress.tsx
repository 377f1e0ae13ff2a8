import { useInfiniteQuery } from "@tanstack/react-query";
import type { Storage } from "@/api/generated/types";
import { storageOperations } from "@/api/storages/queries";
import { reasonOf, standingOf } from "@/domain/storages/standing";
import { useText } from "@/i18n";
import { Panel } from "@/ui/page";
import { StateMark } from "@/ui/state";

/** What is being done to it, and how far that is. */
export function Progress({ it }: { it: Storage }) {
  const { t, language } = useText();
  const { data } = useInfiniteQuery(storageOperations(it.id));
  const operation = data?.pages[0]?.items.find((one) => one.id === it.operation_id);
  const percent = operation?.progress.percent ?? null;
  const standing = standingOf(it);
  return (
    <Panel className="px-4 py-3">
      <div className="flex items-start justify-between gap-4">
        <StateMark mark={standing.mark} reason={reasonOf(it, t, language)}>
          {t(standing.word)}
        </StateMark>
        {percent !== null && (
          <span className="num text-ink-2 text-sm">{t("storages.opPercent", { percent })}</span>
        )}
      </div>
      {percent !== null && (
        <progress
          max={100}
          value={percent}
          aria-label={t(standing.word)}
          className="mt-2 block h-1.5 w-full appearance-none overflow-hidden rounded-sm bg-wash [&::-moz-progress-bar]:bg-ochre [&::-webkit-progress-bar]:bg-wash [&::-webkit-progress-value]:bg-ochre"
        />
      )}
    </Panel>
  );
}
