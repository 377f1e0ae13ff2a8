import { askEarly } from "@/api/early";
import { getMe, listEvents, listInstances, listJobs } from "@/api/generated/operations";
import { endedRunsPage, instancesPage } from "@/api/instances/requests";
import { endedJobs, jobsPage, waiting, withWorker } from "@/api/jobs/requests";
import { openLine } from "@/api/line";
import { pathOf } from "@/api/path";
import { lastCaller } from "./caller";

/** Files of the pages that people open first, by those of their routes: what the router loads when it gets there. */
const files = import.meta.glob<unknown>(
  ["../routes/_app.tsx", "../routes/_app/overview.tsx", "../routes/_app/{instances,jobs}/index.tsx"],
  { query: "?tsr-split=component---loader" },
);

/** What long lists begin with, by the path of their page. */
const lists: Record<string, () => string[]> = {
  "/instances": () => [
    pathOf(listEvents.path, endedRunsPage),
    pathOf(listInstances.path, instancesPage({}, null)),
  ],
  "/jobs": () =>
    [endedJobs, withWorker, waiting].map((filter) => pathOf(listJobs.path, jobsPage(filter, null))),
};

/** Asks for the files and for the lists of the page at an address, while the code of the console is on its way. */
export function beginPage({ pathname, search }: Location) {
  const file = `../routes/_app${pathname}`;
  const page = files[`${file}.tsx`] ?? files[`${file}/index.tsx`];
  if (!page) return;
  readLists(pathname, search);
  const parts = [files["../routes/_app.tsx"], page, pathname in lists && (() => import("@/ui/many-rows"))];
  // what does not come is asked for again by the page, which says so
  for (const load of parts) if (load) load().catch(() => undefined);
}

function readLists(pathname: string, search: string) {
  const caller = lastCaller();
  if (!caller) return;
  const { opened } = openLine();
  askEarly(getMe.path);
  if (caller !== "tenant" || search) return;
  // what is read once events are heard need not be read again
  for (const url of lists[pathname]?.() ?? []) askEarly(url, opened);
}
