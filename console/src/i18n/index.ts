import { createStore, useStore, writeSetting } from "@/lib/store";
import type { en } from "./en";
import type { KeyOf, Plural, Translated, Values } from "./types";

export const languages = { en: "English", "zh-CN": "简体中文" } as const;
export type Language = keyof typeof languages;
export type Catalogue = Translated<typeof en>;
export type Key = KeyOf<typeof en>;
/** Messages that need no values. */
export type PlainKey = { [K in Key]: Values<typeof en, K> extends [] ? K : never }[Key];
export type Text = <K extends Key>(key: K, ...values: Values<typeof en, K>) => string;

const load: Record<Language, () => Promise<Catalogue>> = {
  en: async () => (await import("./en")).en,
  "zh-CN": async () => (await import("./zh-CN")).zhCN,
};

interface Loaded {
  language: Language;
  t: Text;
}

function find(catalogue: Catalogue, key: string): string | Plural {
  let at: unknown = catalogue;
  for (const name of key.split(".")) at = (at as Record<string, unknown>)[name];
  return at as string | Plural;
}

export function textOf(language: Language, catalogue: Catalogue): Text {
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
  const catalogue = await load[language]();
  document.documentElement.lang = language;
  writeSetting("language", language);
  loaded.set({ language, t: textOf(language, catalogue) });
}

/** The language that public/theme.js chose. */
export const firstLanguage = (): Language => (document.documentElement.lang === "zh-CN" ? "zh-CN" : "en");

export function useText(): Loaded {
  const value = useStore(loaded);
  if (!value) throw new Error("no language is loaded yet");
  return value;
}
