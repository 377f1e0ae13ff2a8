/** Days of each period, and how finely it is read. */
export const capacityPeriods = {
  day: { days: 1, step: "hour" },
  week: { days: 7, step: "hour" },
  month: { days: 30, step: "day" },
  year: { days: 365, step: "day" },
} as const;

export type CapacityPeriod = keyof typeof capacityPeriods;
export const capacityPeriodNames = ["day", "week", "month", "year"] as const satisfies CapacityPeriod[];
