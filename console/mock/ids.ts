/** Ids look as real ones do, and are the same at each start. */
export const makeId = <Id extends string>(prefix: string, n: number) =>
  `${prefix}_01939f0a7c3d7e6b8a1f${(n * 2654435761).toString(16).slice(-12).padStart(12, "0")}` as unknown as Id;

/** The same, in the order of creation, as ids of things in lists are. */
export const makeSortedId = <Id extends string>(prefix: string, at: string, n: number) =>
  `${prefix}_${Date.parse(at).toString(16).padStart(12, "0")}7e6b8a1f${(n * 2654435761).toString(16).slice(-12).padStart(12, "0")}` as unknown as Id;

export const nextId = <Id extends string>(backend: { next: number }, prefix: string) =>
  makeId<Id>(prefix, ++backend.next);
