export const instances = {
  title: "Instances",
  running: "Running",
  starting: "Starting",
  restarting: "Restarting",
  waiting: "Waiting",
  stopping: "Stopping",
  stopped: "Stopped",
  held: "Held",
  notStarted: "Did not start",
  failed: "Failed",
  deleting: "Deleting",
  notStart: "{name} is not started",
  notStop: "{name} is not stopped",
  notRestart: "{name} is not restarted",
  notDelete: "{name} is not deleted",
  notRelease: "The GPU of {name} is still kept",
  managed: "The service {service} runs this instance. Only it starts, stops and deletes it.",
  notWhile: "Not while its state is: {state}.",
  quotaExceeded:
    "Your quota of {quota} is used up: {used} of {limit}. Stop or delete what you do not need, or ask an administrator for more.",
  quotaInstances: "instances",
  quotaGpus: "GPUs",
  quotaStorages: "storages",
  quotaStorageGib: "storage, in GiB",
  costExceeded:
    "All instances together may cost {limit} an hour. {used} is in use, and this adds {requested}. Stop something, or choose a cheaper GPU.",
  budgetExhausted:
    "The budget of the studio does not allow it until {when}. Choose a cheaper GPU, or ask an administrator for a larger budget.",
  budgetExhaustedOpen:
    "The budget of the studio does not allow it. Choose a cheaper GPU, or ask an administrator for a larger budget.",
} as const;
