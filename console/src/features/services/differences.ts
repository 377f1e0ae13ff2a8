import type { Difference } from "@/domain/catalogue/changed";

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;

const asText = (value: unknown): string => {
  if (value === undefined || value === null || value === "") return "";
  return typeof value === "string" ? value : JSON.stringify(value);
};

/** What differs between two bodies, at its JSON pointer: lists that grew or shrank as a whole. */
export function differences(from: unknown, to: unknown, pointer = ""): Difference[] {
  if (JSON.stringify(from) === JSON.stringify(to)) return [];
  const isSameList = Array.isArray(from) && Array.isArray(to) && from.length === to.length;
  const areRecords = isRecord(from) && isRecord(to) && !Array.isArray(from) && !Array.isArray(to);
  if (!isSameList && !areRecords)
    return [{ key: pointer, label: pointer.slice(1), from: asText(from), to: asText(to) }];
  const names = [...new Set([...Object.keys(from as object), ...Object.keys(to as object)])];
  return names.flatMap((name) =>
    differences(
      (from as Record<string, unknown>)[name],
      (to as Record<string, unknown>)[name],
      `${pointer}/${name}`,
    ),
  );
}
