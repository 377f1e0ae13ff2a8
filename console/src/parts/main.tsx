import "@fontsource-variable/ibm-plex-sans/wght.css";
import "@fontsource/ibm-plex-mono/latin-400.css";
import "@fontsource/ibm-plex-serif/latin-500.css";
import "../styles.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { createRoot } from "react-dom/client";
import { firstLanguage, setLanguage } from "@/i18n";
import { Toasts } from "@/ui/toast";
import { PartsPage } from "./page";

const router = createRouter({ routeTree: createRootRoute({ component: PartsPage }) });

await setLanguage(firstLanguage());
createRoot(document.getElementById("root") as HTMLElement).render(
  <CSPProvider disableStyleElements>
    <RouterProvider router={router as never} />
    <Toasts />
  </CSPProvider>,
);
