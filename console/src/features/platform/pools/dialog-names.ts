/** What the address of a pool can open. */
export const poolDialogs = ["register", "share"] as const;
