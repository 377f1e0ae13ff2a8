import { useText } from "@/i18n";

/** How many rows have been loaded. */
export function RowsFooter({
  count,
  hasMore,
  isLoading,
}: {
  count: number;
  hasMore: boolean;
  isLoading: boolean;
}) {
  const { t } = useText();
  return (
    <span className="num">
      {isLoading
        ? t("platform.loadingMore")
        : hasMore
          ? t("platform.rowsMore", { count })
          : t("platform.rows", { count })}
    </span>
  );
}
