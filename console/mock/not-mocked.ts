/** Operations that no page uses yet: a handler that is missing elsewhere does not compile. */
export const notMocked = [
  "createJobBatch",
  "endAllSessions",
  "getApiKey",
  "getDeployment",
  "getJwks",
  "getMember",
  "getOpenidConfiguration",
  "getPasskey",
  "getPlatformWorker",
  "getPoolShare",
  "listInstanceOperations",
  "listSshSessions",
  "reconcileJobs",
  "refreshSession",
] as const;
