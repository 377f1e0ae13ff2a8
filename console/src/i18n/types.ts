/** Forms of a message with a number: `{count}` picks one by the language's rules. */
export interface Plural {
  one?: string;
  other: string;
}

/** The shape of a catalogue, whatever its language. */
export type Translated<T> = {
  [K in keyof T]: T[K] extends string ? string : T[K] extends Plural ? Plural : Translated<T[K]>;
};

type Paths<T, Prefix extends string = ""> = {
  [K in keyof T & string]: T[K] extends string | Plural ? `${Prefix}${K}` : Paths<T[K], `${Prefix}${K}.`>;
}[keyof T & string];

type At<T, Path extends string> = Path extends `${infer Head}.${infer Rest}`
  ? Head extends keyof T
    ? At<T[Head], Rest>
    : never
  : Path extends keyof T
    ? T[Path]
    : never;

type Names<Text> = Text extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
type ValuesOf<M> = M extends string
  ? Names<M>
  : M extends { other: infer Text }
    ? Names<Text> | "count"
    : never;

export type KeyOf<Catalogue> = Paths<Catalogue>;
/** The values that a message needs: `{name}` in its text is a member `name`. */
export type Values<Catalogue, Key extends string> = [ValuesOf<At<Catalogue, Key>>] extends [never]
  ? []
  : [values: { [Name in ValuesOf<At<Catalogue, Key>>]: Name extends "count" ? number : string | number }];
