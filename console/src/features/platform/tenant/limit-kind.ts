export type LimitKind = "quota" | "storage" | "budget";
