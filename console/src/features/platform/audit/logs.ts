export const logs = ["identity", "gpu", "stock", "storage", "jobs"] as const;
export type Log = (typeof logs)[number];
