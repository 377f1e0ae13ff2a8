export const storageStates = ["available", "pending", "resizing", "failed", "deleting"] as const;
