import { formatNumber } from "@/lib/intl";
import { writeSetting } from "@/lib/setting";
import { createStore, useStore } from "@/lib/store";
import { firstLanguage, loadWords } from "./load";
import type { Plural } from "./types";
import type { Area, Language, PlainKey, Text } from "./words";

export { languages } from "./languages";
export type { Key, Language, PlainKey, Text } from "./words";
export { firstLanguage };

/** What the pages seen so far have asked for. */
const wanted = new Set<Area>();

interface Loaded {
  language: Language;
  t: Text;
}

function find(catalogue: object, key: string): string | Plural {
  let at: unknown = catalogue;
  for (const name of key.split(".")) at = (at as Record<string, unknown> | undefined)?.[name];
  return at as string | Plural;
}

export function textOf(language: Language, catalogue: object): Text {
  return (key, ...rest) => {
    const values: Record<string, string | number> = rest[0] ?? {};
    const found = find(catalogue, key);
    const text =
      typeof found === "string"
        ? found
        : ((language === "en" && Number(values.count) === 1 ? found.one : undefined) ?? found.other);
    return text.replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = values[name];
      return typeof value === "number" ? formatNumber(value, language) : String(value);
    });
  };
}

/** All words that are loaded. */
let words: object = {};

/** Whether there is a text of this name. */
export const isKey = (key: string): key is PlainKey => typeof find(words, key) === "string";

const loaded = createStore<Loaded | null>(null);

export async function setLanguage(language: Language) {
  const { early, late } = await loadWords[language]();
  const areas = [...wanted].map(async (area) => [area, await late[area]()] as const);
  words = { ...early, ...Object.fromEntries(await Promise.all(areas)) };
  document.documentElement.lang = language;
  writeSetting("language", language);
  loaded.set({ language, t: textOf(language, words) });
}

/** Loads words of these areas, for the loader of a route whose page shows them. */
export async function needWords(...areas: Area[]) {
  const missing = areas.filter((area) => !wanted.has(area));
  if (missing.length === 0) return;
  for (const area of missing) wanted.add(area);
  await setLanguage(loaded.get()?.language ?? firstLanguage());
}

export function useText(): Loaded {
  const value = useStore(loaded);
  if (!value) throw new Error("no language is loaded yet");
  return value;
}
