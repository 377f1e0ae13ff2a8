import type { InfiniteData } from "@tanstack/react-query";
import type { Report } from "./queries";
import { type Costs, rounded, sorted } from "./report";

interface List<Group> {
  data: InfiniteData<Report<Group>>;
  hasNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

/** What a page shows of a report: its rows in cents that add up once all are here, and the whole window. */
export function partsOf<Group extends Costs>(list: List<Group>, by: string) {
  const { pages } = list.data;
  const [first] = pages;
  const all = pages.flatMap((page) => page.groups);
  const isWhole = !list.hasNextPage;
  return {
    ...(first?.whole ?? { days: [], kinds: [] }),
    window: first?.window ?? { from: 0, to: 0, end: 0 },
    groups: sorted(isWhole ? rounded(all) : all, by, isWhole),
    onEnd: isWhole ? undefined : () => void list.fetchNextPage(),
  };
}
