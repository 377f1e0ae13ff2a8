import { readSetting, writeSetting } from "./setting";
import { createStore } from "./store";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const stored = readSetting("theme");
export const theme = createStore<Theme>(themes.find((it) => it === stored) ?? "system");

const dark = matchMedia("(prefers-color-scheme: dark)");

/** The first paint is that of public/theme.js. */
function show() {
  const wanted = theme.get();
  document.documentElement.dataset.theme =
    wanted === "dark" || (wanted === "system" && dark.matches) ? "dark" : "light";
}

export function setTheme(next: Theme) {
  writeSetting("theme", next);
  theme.set(next);
  show();
}

dark.addEventListener("change", show);
