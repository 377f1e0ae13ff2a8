import { createStore, useStore, writeSetting } from "@/lib/store";
import type { Plural } from "./types";
import type { Area, Early, Late, Text } from "./words";

export type { Key, PlainKey, Text } from "./words";

export const languages = { en: "English", "zh-CN": "简体中文" } as const;
export type Language = keyof typeof languages;
interface Words {
  early: Early;
  late: Late;
}

const load: Record<Language, () => Promise<Words>> = {
  en: async () => {
    const { en, late } = await import("./en");
    return { early: en, late };
  },
  "zh-CN": async () => {
    const { zhCN, late } = await import("./zh-CN");
    return { early: zhCN, late };
  },
};

/** What the pages seen so far have asked for. */
const wanted = new Set<Area>();

interface Loaded {
  language: Language;
  t: Text;
}

function find(catalogue: object, key: string): string | Plural {
  let at: unknown = catalogue;
  for (const name of key.split(".")) at = (at as Record<string, unknown>)[name];
  return at as string | Plural;
}

export function textOf(language: Language, catalogue: object): Text {
  const rules = new Intl.PluralRules(language);
  const numbers = new Intl.NumberFormat(language);
  return (key, ...rest) => {
    const values: Record<string, string | number> = rest[0] ?? {};
    const found = find(catalogue, key);
    const text =
      typeof found === "string"
        ? found
        : ((rules.select(Number(values.count)) === "one" ? found.one : undefined) ?? found.other);
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      return typeof value === "number" ? numbers.format(value) : String(value);
    });
  };
}

const loaded = createStore<Loaded | null>(null);

export async function setLanguage(language: Language) {
  const { early, late } = await load[language]();
  const areas = [...wanted].map(async (area) => [area, await late[area]()] as const);
  const catalogue = { ...early, ...Object.fromEntries(await Promise.all(areas)) };
  document.documentElement.lang = language;
  writeSetting("language", language);
  loaded.set({ language, t: textOf(language, catalogue) });
}

/** Loads words of these areas, for the loader of a route whose page shows them. */
export async function needWords(...areas: Area[]) {
  const missing = areas.filter((area) => !wanted.has(area));
  if (missing.length === 0) return;
  for (const area of missing) wanted.add(area);
  await setLanguage(loaded.get()?.language ?? firstLanguage());
}

/** The language that public/theme.js chose. */
export const firstLanguage = (): Language => (document.documentElement.lang === "zh-CN" ? "zh-CN" : "en");

export function useText(): Loaded {
  const value = useStore(loaded);
  if (!value) throw new Error("no language is loaded yet");
  return value;
}
