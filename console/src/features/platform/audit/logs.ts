/** The services with an audit log: those of platform.toml, which a test compares. */
export const logs = ["identity", "gpu", "stock", "storage", "jobs"] as const;
export type Log = (typeof logs)[number];
