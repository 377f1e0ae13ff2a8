export const periods = ["month", "last-month", "7d", "own"] as const;
export type Period = (typeof periods)[number];

/** What costs: the table shows one of them. */
export const subjects = ["instances", "jobs"] as const;
export type Subject = (typeof subjects)[number];

export const groupings = ["day", "spec", "instance", "kind"] as const;
export type Grouping = (typeof groupings)[number];

export const jobGroupings = ["day", "kind", "pool", "spec", "charge"] as const;
export type JobGrouping = (typeof jobGroupings)[number];

/** What an address can name: a grouping of one of them. */
export const allGroupings = ["day", "spec", "instance", "kind", "pool", "charge"] as const;
export type AnyGrouping = (typeof allGroupings)[number];

export const groupingOf = (by: AnyGrouping | undefined): Grouping =>
  groupings.find((it) => it === by) ?? "day";
export const jobGroupingOf = (by: AnyGrouping | undefined): JobGrouping =>
  jobGroupings.find((it) => it === by) ?? "day";
