export const ranges = ["1h", "run", "24h", "7d"] as const;
export type Range = (typeof ranges)[number];
