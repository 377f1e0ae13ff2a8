export const periods = ["month", "last-month", "7d", "own"] as const;
export type Period = (typeof periods)[number];

export const groupings = ["day", "spec", "instance", "kind"] as const;
export type Grouping = (typeof groupings)[number];
