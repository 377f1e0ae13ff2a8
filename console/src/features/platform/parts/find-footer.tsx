import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { RowsFooter } from "./rows-footer";

/** How far a search has looked: what is older is read on demand. */
export function FindFooter({
  found,
  read,
  isFinding,
  onMore,
  isLoading,
}: {
  found: number;
  read: number;
  isFinding: boolean;
  /** Absent when all are read. */
  onMore: (() => void) | undefined;
  isLoading: boolean;
}) {
  const { t } = useText();
  if (!isFinding) return <RowsFooter count={read} hasMore={Boolean(onMore)} isLoading={isLoading} />;
  return (
    <span className="num flex flex-wrap items-center justify-between gap-3">
      {t("fleet.found", { count: found, read })}
      {onMore && (
        <Button small busy={isLoading} onClick={onMore}>
          {t("fleet.searchOlder")}
        </Button>
      )}
    </span>
  );
}
