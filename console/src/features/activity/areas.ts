export const areas = ["people", "instances", "storages", "jobs"] as const;
export type Area = (typeof areas)[number];
