import { type Did, sentences } from "./sentences";

/** The sentence of an operation; those of services among themselves are shown as they are. */
export const didOf = (operation: string): Did => sentences[operation] ?? "activity.didOther";

/** What it was done to: the last id in what was created, else in the path. */
export function targetOf({ path, created }: { path: string; created: string | null }): string | null {
  return (created ?? path).split("/").findLast((part) => /^[a-z]+_[0-9a-f]{12,}/.test(part)) ?? null;
}
