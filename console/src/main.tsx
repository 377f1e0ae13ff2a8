import { prepare, show } from "./app/app";
import { firstLanguage, setLanguage } from "./i18n";

if (import.meta.env.MODE === "demo") {
  const { answerInPage } = await import("@mock/in-page");
  answerInPage();
}

// a release has replaced the chunk: the page of the new one asks for others
addEventListener("vite:preloadError", (event) => {
  const last = Number(sessionStorage.getItem("reloaded") ?? 0);
  if (Date.now() - last < 60_000) return;
  event.preventDefault();
  sessionStorage.setItem("reloaded", String(Date.now()));
  location.reload();
});

const words = setLanguage(firstLanguage());
prepare();
await words;
show();
