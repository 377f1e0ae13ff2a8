import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { createHashHistory, createRouter, RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { ApiError, NetworkError } from "@/api/problem";
import { makeQueryClient } from "@/api/query";
import { me } from "@/api/session";
import { firstLanguage, setLanguage } from "@/i18n";
import { routeTree } from "@/routeTree.gen";
import { NotFound, PageError } from "./page-error";

const client = makeQueryClient();
const router = createRouter({
  routeTree,
  context: { client },
  ...(import.meta.env.MODE === "demo" && { history: createHashHistory() }),
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  // the page before stays until the next is there
  defaultPendingMs: Number.POSITIVE_INFINITY,
  defaultErrorComponent: PageError,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** A refusal is shown in place of the page; only mistakes of the page itself go into the browser's log. */
function report(error: unknown) {
  if (!(error instanceof ApiError) && !(error instanceof NetworkError)) console.error(error);
}

/** Asks for what the page waits for beside its words: who calls, unless it is a page for everybody, and its own files. */
function prepare() {
  const ids = new Set<string>(router.matchRoutes(router.latestLocation).map((it): string => it.routeId));
  if (ids.has("/_app")) void client.prefetchQuery(me);
  // a file that does not come is asked for again by the page, which says so
  for (const route of Object.values(router.routesById))
    if (ids.has(route.id)) router.loadRouteChunk(route)?.catch(() => undefined);
}

/** Shows the page as soon as its words are there. */
export async function start() {
  const words = setLanguage(firstLanguage());
  prepare();
  await words;
  const root = document.getElementById("root");
  if (!root) throw new Error("index.html has no #root");
  createRoot(root, { onCaughtError: report }).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={client}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
}
