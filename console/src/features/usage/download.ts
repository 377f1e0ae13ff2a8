import { useState } from "react";
import type { useLoadedPages } from "@/api/query";
import { useText } from "@/i18n";
import { download } from "@/lib/download";
import { describe } from "@/ui/error";
import { notify } from "@/ui/toast";
import { type Columns, csvOf } from "./csv";
import { DAY, dayOf } from "./period";
import type { Report } from "./queries";
import { type Costs, sorted } from "./report";

/** The pages that are here, and how to get the next one. */
type Pages<Group> = ReturnType<typeof useLoadedPages<Report<Group>, readonly unknown[], unknown>>;

/** The whole table as a file, with the rows that are not in the page yet. */
export function useCsv<Figure extends string, Group extends Costs & Record<Figure, number>>(
  list: Pages<Group>,
  name: string,
  columns: Columns<Figure, Group>,
) {
  const { t } = useText();
  const [busy, setBusy] = useState(false);
  const make = async () => {
    let { data, hasNextPage } = list;
    while (hasNextPage) {
      const next = await list.fetchNextPage();
      if (!next.data) throw next.error;
      ({ data, hasNextPage } = next);
    }
    const { pages } = data;
    const [first] = pages;
    if (!first) return;
    const { from, end, to } = first.window;
    const days = `${dayOf(from)}_${dayOf(Math.min(end - DAY, to - 1))}`;
    const groups = sorted(
      pages.flatMap((page) => page.groups),
      columns.by,
      true,
    );
    download(`${name}_${days}_${columns.by}.csv`, "text/csv", csvOf(groups, columns));
  };
  return {
    busy,
    run: () => {
      setBusy(true);
      make()
        .catch((error: unknown) =>
          notify({ failed: true, title: t("usage.csvFailed"), detail: describe(error, t) }),
        )
        .finally(() => setBusy(false));
    },
  };
}
