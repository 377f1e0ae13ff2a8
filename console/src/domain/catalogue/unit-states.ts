import type { UnitState } from "@/api/generated/types";

export const unitStates = [
  "available",
  "used",
  "inactive",
  "making",
  "removing",
] as const satisfies UnitState[];
