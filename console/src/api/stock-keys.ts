/** Of additions and removals. */
export const stockOperationsKey = ["stock-operations"] as const;
