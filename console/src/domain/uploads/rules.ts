const MIB = 1024 ** 2;

/** What the API takes as a file for jobs. */
export const accepted = ["image/png", "image/jpeg"] as const;
const MOST_BYTES = 32 * MIB;
const MOST_NAME = 100;

export type Refusal = "type" | "large" | "empty" | "unreadable" | "twice";

/** Why a file cannot be sent, before anything is read of it. */
export function refusalOf({ type, size }: Pick<File, "type" | "size">): Refusal | null {
  if (!accepted.some((it) => it === type)) return "type";
  if (size === 0) return "empty";
  return size > MOST_BYTES ? "large" : null;
}

/** The name as the API takes it: at most 100 bytes, without slashes and control characters; its ending stays. */
export function plainName(name: string): string {
  const plain = [...name].map((c) => (c === "/" || c < " " || c === "\u007f" ? "-" : c)).join("");
  const ending = /\.[^.]{1,8}$/.exec(plain)?.[0] ?? "";
  const bytes = (text: string) => new TextEncoder().encode(text).length;
  let stem = [...plain.slice(0, plain.length - ending.length)];
  while (stem.length > 1 && bytes(stem.join("") + ending) > MOST_NAME) stem = stem.slice(0, -1);
  return stem.join("") + ending;
}
