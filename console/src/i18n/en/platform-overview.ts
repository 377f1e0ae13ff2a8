export const platformOverview = {
  title: "Platform",
  summary:
    "{running} instances run at {rate} an hour, of {tenants} tenants. {available} units are available.",
  needsLook: "Needs a look",
  allWell: "All modules work, and nothing failed in the last day.",
  look: "Look",
  operationFailed: "An operation of the stock failed {time}:",
  repairs: {
    one: "{count} repair of the stock today:",
    other: "{count} repairs of the stock today, the last:",
  },
  capacity: "Capacity",
  used: "used",
  available: "available",
  inactive: "inactive",
  draining: "draining",
  noStock: "There is no stock yet. Add units to it.",
  soldOut: {
    one: "{count} specification has no room here",
    other: "{count} specifications have no room here",
  },
  spenders: "Tenants that spend most",
  allTenants: "All tenants",
  byDay: "What all tenants cost, by day of this month",
} as const;
