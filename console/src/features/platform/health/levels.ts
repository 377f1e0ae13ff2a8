import type { LogLevel } from "@/api/generated/types";

export const levels = ["error", "warn", "info", "debug", "trace"] as const satisfies LogLevel[];
