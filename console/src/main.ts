import "@fontsource-variable/ibm-plex-sans/wght.css";
import "@fontsource/ibm-plex-mono/latin-400.css";
import "@fontsource/ibm-plex-serif/latin-500.css";
import "./styles.css";
import { beginPage } from "./first/page";
import { firstLanguage, loadWords } from "./i18n/load";

// a release has replaced the chunk: the page of the new one asks for others
addEventListener("vite:preloadError", (event) => {
  const last = Number(sessionStorage.getItem("reloaded") ?? 0);
  if (Date.now() - last < 60_000) return;
  event.preventDefault();
  sessionStorage.setItem("reloaded", String(Date.now()));
  location.reload();
});

if (import.meta.env.MODE === "demo") {
  const { answerInPage } = await import("@mock/in-page");
  answerInPage();
} else beginPage(location);

loadWords[firstLanguage()]().catch(() => undefined);

// all that is asked for so far is on its way beside it
const { start } = await import("./app/app");
await start();
