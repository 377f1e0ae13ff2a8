import { activityHandlers } from "./handlers/activity.ts";
import { bucketKeyHandlers } from "./handlers/bucket-keys.ts";
import { catalogueHandlers } from "./handlers/catalogue.ts";
import { datacenterHandlers } from "./handlers/datacenters.ts";
import { gpuSpecHandlers } from "./handlers/gpu-specs.ts";
import { instanceDetailHandlers } from "./handlers/instance.ts";
import { instanceHandlers } from "./handlers/instances.ts";
import { jobHandlers } from "./handlers/jobs.ts";
import { keyHandlers } from "./handlers/keys.ts";
import { meHandlers } from "./handlers/me.ts";
import { membersHandlers } from "./handlers/members.ts";
import { modelHandlers } from "./handlers/models.ts";
import { platformAuditHandlers } from "./handlers/platform-audit.ts";
import { platformHealthHandlers } from "./handlers/platform-health.ts";
import { platformInstanceHandlers } from "./handlers/platform-instances.ts";
import { platformPoolHandlers } from "./handlers/platform-pools.ts";
import { platformStateHandlers } from "./handlers/platform-state.ts";
import { platformTenantHandlers } from "./handlers/platform-tenants.ts";
import { platformUsageHandlers } from "./handlers/platform-usage.ts";
import { platformUserHandlers } from "./handlers/platform-users.ts";
import { queueHandlers } from "./handlers/queues.ts";
import { registryHandlers } from "./handlers/registry.ts";
import { serviceHandlers } from "./handlers/services.ts";
import { sessions } from "./handlers/sessions.ts";
import { sshKeyHandlers } from "./handlers/ssh-keys.ts";
import { stockHandlers } from "./handlers/stock.ts";
import { storageSpecHandlers } from "./handlers/storage-specs.ts";
import { storageHandlers } from "./handlers/storages.ts";
import { uploadHandlers } from "./handlers/uploads.ts";
import { usageHandlers } from "./handlers/usage.ts";
import { visitorHandlers } from "./handlers/visitor.ts";
import { webhookHandlers } from "./handlers/webhooks.ts";
import type { Handlers, Mocked } from "./types.ts";

export const handlers: Handlers = {
  ...sessions,
  ...meHandlers,
  ...membersHandlers,
  ...keyHandlers,
  ...catalogueHandlers,
  ...gpuSpecHandlers,
  ...datacenterHandlers,
  ...serviceHandlers,
  ...storageSpecHandlers,
  ...stockHandlers,
  ...platformStateHandlers,
  ...storageHandlers,
  ...bucketKeyHandlers,
  ...registryHandlers,
  ...sshKeyHandlers,
  ...instanceHandlers,
  ...instanceDetailHandlers,
  ...usageHandlers,
  ...webhookHandlers,
  ...queueHandlers,
  ...platformAuditHandlers,
  ...platformHealthHandlers,
  ...platformInstanceHandlers,
  ...platformPoolHandlers,
  ...platformTenantHandlers,
  ...platformUsageHandlers,
  ...platformUserHandlers,
  ...visitorHandlers,
  ...activityHandlers,
  ...jobHandlers,
  ...modelHandlers,
  ...uploadHandlers,
};

/** Needs no sign-in. */
export const forEveryone = new Set<Mocked>([
  "createSession",
  "createPasskeySession",
  "createPasskeyChallenge",
  "listSignInProviders",
  "listOffers",
  "listStorageOffers",
]);
