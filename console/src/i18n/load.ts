import type { Early, Language, Late } from "./words";

interface Words {
  early: Early;
  late: Late;
}

export const loadWords: Record<Language, () => Promise<Words>> = {
  en: async () => {
    const { en, late } = await import("./en");
    return { early: en, late };
  },
  "zh-CN": async () => {
    const { zhCN, late } = await import("./zh-CN");
    return { early: zhCN, late };
  },
};

/** The language that public/theme.js chose. */
export const firstLanguage = (): Language => (document.documentElement.lang === "zh-CN" ? "zh-CN" : "en");
