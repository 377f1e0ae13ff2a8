import type { StorageSpec } from "@/api/generated/types";

/** What was typed as a whole number of GiB; NaN if it is none. */
export const wholeGib = (text: string) => (/^\d{1,7}$/.test(text.trim()) ? Number(text) : Number.NaN);

export const fitsSpec = (
  gib: number,
  { min_size_gib, max_size_gib }: Pick<StorageSpec, "min_size_gib" | "max_size_gib">,
) => gib >= min_size_gib && gib <= max_size_gib;

export const isFixed = ({ min_size_gib, max_size_gib }: Pick<StorageSpec, "min_size_gib" | "max_size_gib">) =>
  min_size_gib === max_size_gib;
