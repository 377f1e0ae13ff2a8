import type { en, late } from "./en";
import type { languages } from "./languages";
import type { KeyOf, Translated, Values } from "./types";

export type Language = keyof typeof languages;
/** Areas of words that only some pages need. */
export type Area = keyof typeof late;
type LateWords = { [A in Area]: Awaited<ReturnType<(typeof late)[A]>> };
type English = typeof en & LateWords;
export type Early = Translated<typeof en>;
/** All words of a language. */
export type Full = Translated<English>;
export type Late = { [A in Area]: () => Promise<Translated<LateWords[A]>> };
export type Key = KeyOf<English>;
/** Messages that need no values. */
export type PlainKey = { [K in Key]: Values<English, K> extends [] ? K : never }[Key];
export type Text = <K extends Key>(key: K, ...values: Values<English, K>) => string;
