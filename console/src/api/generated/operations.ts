// Generated from the gateway's OpenAPI document by `cargo xtask console-client`: do not edit.

import { operation, raw, stream } from "../operation";
import type {
  AccountLink,
  ApiKey,
  ApiKeyId,
  ArtifactId,
  AuditVerification,
  BaseModelKind,
  BucketCredential,
  Budget,
  BudgetTerms,
  CapacityStep,
  CountedPageInstance,
  CountedPageJob,
  CountedPagePlatformInstance,
  CountedPagePlatformStorage,
  CountedPageStorage,
  CreatedUpload,
  CreatedWorker,
  Credentials,
  Datacenter,
  DatacenterId,
  DatacenterPatch,
  DeadMessageId,
  DeliveryState,
  Deployment,
  DeploymentId,
  Discovery,
  Event,
  GpuSpec,
  GpuSpecId,
  GpuSpecPatch,
  GpuSpecState,
  ImageId,
  Instance,
  InstanceChange,
  InstanceId,
  InstanceMetrics,
  InstanceState,
  Invitation,
  InvitationId,
  Job,
  JobBatch,
  JobChange,
  JobEvent,
  JobEventType,
  JobExplanation,
  JobId,
  JobKind,
  JobLevel,
  JobLog,
  JobQuote,
  JobState,
  JwkSet,
  Limits,
  LinkedAccountId,
  LogLevel,
  LogLine,
  Me,
  MeChange,
  Member,
  MemberChange,
  Membership,
  Model,
  ModelChange,
  ModelId,
  MqCredential,
  MqCredentialId,
  NewAccountLink,
  NewApiKey,
  NewBucketCredential,
  NewDatacenter,
  NewDeployment,
  NewGpuSpec,
  NewInstance,
  NewInvitation,
  NewJob,
  NewJobBatch,
  NewMember,
  NewMqCredential,
  NewPasskey,
  NewPool,
  NewRegistryCredential,
  NewServiceImage,
  NewShareLink,
  NewSshKey,
  NewStorage,
  NewStorageSpec,
  NewTenant,
  NewTicketOptions,
  NewUpload,
  NewUser,
  NewWebhook,
  NewWorker,
  Operation,
  OperationId,
  PageAdminAction,
  PageApiKey,
  PageArtifact,
  PageAuditEntry,
  PageBaseModel,
  PageBucketCredential,
  PageDatacenter,
  PageDeadMessage,
  PageDeployment,
  PageEvent,
  PageGpuSpec,
  PageInstanceLog,
  PageInvitation,
  PageJobAttempt,
  PageJobEvent,
  PageJobUsageGroup,
  PageLinkedAccount,
  PageMember,
  PageMembership,
  PageModel,
  PageMqCredential,
  PageOffer,
  PageOperation,
  PagePasskey,
  PagePlatformBudget,
  PagePlatformQuota,
  PagePlatformStorageQuota,
  PagePool,
  PagePoolShare,
  PagePrice,
  PageReceivedInvitation,
  PageRegistryCredential,
  PageRepair,
  PageServiceImage,
  PageSession,
  PageShareLink,
  PageSigningKey,
  PageSshKey,
  PageSshSession,
  PageStockRow,
  PageStockUnit,
  PageStorageOffer,
  PageStorageSpec,
  PageTenant,
  PageUsablePool,
  PageUsageGroup,
  PageUser,
  PageWebhook,
  PageWebhookDelivery,
  PageWorker,
  Passkey,
  PasskeyChallenge,
  PasskeyChange,
  PasskeyCredentials,
  PasskeyId,
  PasswordChange,
  PlatformBudget,
  PlatformHealth,
  PlatformInstance,
  PlatformIsolation,
  PlatformLogs,
  PlatformQuota,
  PlatformStorage,
  PlatformStorageQuota,
  Pool,
  PoolCapacity,
  PoolId,
  PoolPatch,
  PoolShare,
  Quota,
  Quote,
  Reconciled,
  Reconciliation,
  RecoveryCodes,
  Refresh,
  RegistryCredential,
  RegistryCredentialId,
  Replay,
  ServiceImage,
  ServiceImageChange,
  SessionChange,
  SessionId,
  SessionTenant,
  SessionTokens,
  Share,
  ShareInUse,
  ShareLink,
  ShareLinkId,
  SignInProviders,
  SigningKeyRequest,
  SshEndpoint,
  SshKey,
  SshKeyId,
  StockCapacity,
  StockChange,
  StockEvent,
  StockUnitDetail,
  StopOptions,
  Storage,
  StorageChange,
  StorageEvent,
  StorageId,
  StorageKind,
  StorageLimits,
  StorageQuota,
  StorageSpec,
  StorageSpecChange,
  StorageSpecId,
  StorageSpecState,
  StorageState,
  StreamEvent,
  Tenant,
  TenantChange,
  TenantId,
  TenantState,
  Ticket,
  Timestamp,
  Totp,
  TotpCode,
  TotpSecret,
  UnitId,
  UnitState,
  Upload,
  UploadId,
  Usage,
  User,
  UserChange,
  UserId,
  Webhook,
  WebhookChange,
  WebhookDelivery,
  WebhookId,
  WebhookWithSecret,
  Worker,
  WorkerId,
} from "./types";

/**
 * Accepts an invitation: the caller becomes a member of the tenant. To act for it, refresh the session with its
 * `tenant_id`.
 */
export const acceptInvitation = /* @__PURE__ */ operation<{ path: { id: InvitationId }; headers?: { "Idempotency-Key"?: string } }, Membership>("POST", "/v1/me/invitations/{id}/accept");

/** Adds a user to a tenant. For administrators. Owners invite people: see `create_invitation`. */
export const addMember = /* @__PURE__ */ operation<{ path: { id: TenantId }; headers?: { "Idempotency-Key"?: string }; body: NewMember }, Member>("POST", "/v1/tenants/{id}/members");

/**
 * Adds units to the stock. They become available when the cluster holds their resources; the operation reports how
 * many do, and why the others do not. When it fails, units that are not in the cluster yet are withdrawn.
 */
export const addStock = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: StockChange }, Operation>("POST", "/v1/stock/additions");

/**
 * Cancels a job. A job that waits ends at once; for a running job, the worker is told to stop. Cancelling again has no
 * effect.
 */
export const cancelJob = /* @__PURE__ */ operation<{ path: { id: JobId }; headers?: { "Idempotency-Key"?: string } }, Job>("POST", "/v1/jobs/{id}/cancel");

/** Changes the caller's password. Ends all other sessions of the caller. */
export const changePassword = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: PasswordChange }, void>("PUT", "/v1/me/password");

/** Creates an API key, which acts for the caller in the tenant of the token. */
export const createApiKey = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewApiKey }, ApiKey>("POST", "/v1/api-keys");

/** Creates a datacenter. */
export const createDatacenter = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewDatacenter }, Datacenter>("POST", "/v1/datacenters");

/**
 * Deploys a model to a volume of the tenant, for instances that mount the volume. An existing file at the path is
 * replaced in one step, when the new one is complete and verified.
 */
export const createDeployment = /* @__PURE__ */ operation<{ path: { id: ModelId }; headers?: { "Idempotency-Key"?: string }; body: NewDeployment }, Deployment>("POST", "/v1/models/{id}/deployments");

/** Creates a specification. */
export const createGpuSpec = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewGpuSpec }, GpuSpec>("POST", "/v1/gpu-specs");

/** Creates an instance and, unless `start` is false, starts it. */
export const createInstance = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewInstance }, Instance>("POST", "/v1/instances");

/**
 * Adds an SSH key that opens this instance only. It ends with the rights of the user who adds it, or with the API key
 * that adds it.
 */
export const createInstanceSshKey = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string }; body: NewSshKey }, SshKey>("POST", "/v1/instances/{id}/ssh-keys");

/** Creates a one-time ticket to the URL of the instance or of one of its ports. It is valid for a minute. */
export const createInstanceTicket = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string }; body?: NewTicketOptions | null }, Ticket>("POST", "/v1/instances/{id}/tickets");

/** Invites a person to a tenant by e-mail address, for 14 days. For owners and administrators. */
export const createInvitation = /* @__PURE__ */ operation<{ path: { id: TenantId }; headers?: { "Idempotency-Key"?: string }; body: NewInvitation }, Invitation>("POST", "/v1/tenants/{id}/invitations");

/** Submits a job. */
export const createJob = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewJob }, Job>("POST", "/v1/jobs");

/** Submits up to 1,000 jobs. Each is accepted or refused by itself. */
export const createJobBatch = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewJobBatch }, JobBatch>("POST", "/v1/job-batches");

/**
 * Creates a credential for the message broker, to submit jobs and read events. The password is returned once, as
 * `secret`; a replayed request returns none. The credential ends with its maker: when the user is removed from the
 * tenant, disabled or becomes a viewer, or the API key is deleted or expires. An owner can take it over before that.
 * An API key needs `jobs:write` as well, and cannot have a limit of requests, since messages are not counted.
 */
export const createMqCredential = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewMqCredential }, MqCredential>("POST", "/v1/mq-credentials");

/** Registers the passkey that the browser created with the options of `create_passkey_registration`. */
export const createPasskey = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewPasskey }, Passkey>("POST", "/v1/me/passkeys");

/**
 * Begins a sign-in with a passkey: returns options for `navigator.credentials.get()`. The browser's answer is valid once,
 * for five minutes, for `create_passkey_session`, or for `create_session` as the second factor.
 */
export const createPasskeyChallenge = /* @__PURE__ */ operation<Record<string, never>, PasskeyChallenge>("POST", "/v1/sessions/passkey-challenges");

/**
 * Begins the registration of a passkey: returns options for `navigator.credentials.create()`. Finish it with
 * `create_passkey` in the same session, within five minutes. A session has one registration at a time. Requires a
 * sign-in within the last minutes. API keys cannot register passkeys.
 */
export const createPasskeyRegistration = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string } }, PasskeyChallenge>("POST", "/v1/me/passkey-registrations");

/** Creates a session with a passkey, instead of e-mail address, password and second factor. */
export const createPasskeySession = /* @__PURE__ */ operation<{ body: PasskeyCredentials }, SessionTokens>("POST", "/v1/sessions/passkey");

/**
 * Creates a pool. A job runs in the oldest pool that runs its application for its tenant, with dedicated pools first.
 * For administrators.
 */
export const createPlatformPool = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewPool }, Pool>("POST", "/v1/platform-pools");

/** Creates a worker. Its process registers with the token of the response. For administrators. */
export const createPlatformWorker = /* @__PURE__ */ operation<{ path: { id: PoolId }; headers?: { "Idempotency-Key"?: string }; body: NewWorker }, CreatedWorker>("POST", "/v1/platform-pools/{id}/workers");

/**
 * Creates a credential for pulling images from a private registry. An instance names it (`registry_credential` of its
 * `image`), or uses the newest one for the registry of its image. To change a secret, create another credential and
 * delete this one: instances that name none use the new one from their next start or restart on. The credential ends
 * with its maker: when the user is removed from the tenant, disabled or becomes a viewer, or the API key is deleted or
 * expires.
 */
export const createRegistryCredential = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewRegistryCredential }, RegistryCredential>("POST", "/v1/registry-credentials");

/** Adds a version of a service. Administrators only. */
export const createService = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewServiceImage }, ServiceImage>("POST", "/v1/services");

/** Creates a session with a password. */
export const createSession = /* @__PURE__ */ operation<{ body: Credentials }, SessionTokens>("POST", "/v1/sessions");

/**
 * Creates a link that opens the instance, or one of its public ports, to everyone who has it, or to one person who
 * signs in. It ends when it expires, when it is deleted, and with the rights of its maker: the user, or the API key
 * with which it is created. The link is returned once.
 */
export const createShareLink = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string }; body: NewShareLink }, ShareLink>("POST", "/v1/instances/{id}/share-links");

/**
 * Adds an SSH key to the user. It opens every instance that the user may use. A key that is added with an API key
 * opens only instances of the API key's tenant, and ends with the API key, which needs `instances:write` as well.
 */
export const createSshKey = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewSshKey }, SshKey>("POST", "/v1/ssh-keys");

/** Creates a storage. It is available when its operation has succeeded. */
export const createStorage = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewStorage }, Storage>("POST", "/v1/storages");

/** Creates an access key for a bucket. */
export const createStorageCredential = /* @__PURE__ */ operation<{ path: { id: StorageId }; headers?: { "Idempotency-Key"?: string } }, NewBucketCredential>("POST", "/v1/storages/{id}/credentials");

/** Creates a storage specification. Administrators only. */
export const createStorageSpec = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewStorageSpec }, StorageSpec>("POST", "/v1/storage-specs");

/** Creates a tenant without members. For administrators. */
export const createTenant = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewTenant }, Tenant>("POST", "/v1/tenants");

/**
 * Creates a secret for an authenticator app (TOTP: SHA-1, six digits, 30 s). Codes are required only after the first
 * one was confirmed with `start_totp`. Until then, each call replaces the secret. A replayed request returns no
 * secret.
 */
export const createTotp = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string } }, TotpSecret>("POST", "/v1/me/totp");

/**
 * Creates an upload: a URL to upload one file, which jobs of the tenant can then name. The tenant's first result or
 * upload creates its bucket `job-outputs`; until the bucket is ready, the response is 503.
 */
export const createUpload = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewUpload }, CreatedUpload>("POST", "/v1/uploads");

/** Creates a user with an initial password. API keys cannot create users, since the password allows to sign in. */
export const createUser = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewUser }, User>("POST", "/v1/users");

/**
 * Creates a webhook: from then on, events of jobs are sent to its URL. The secret is returned once. The webhook is
 * disabled when the rights of its maker end: when the user is removed from the tenant, disabled or becomes a viewer,
 * or the API key is deleted or expires. An owner can take it over, before or after that. An API key needs `jobs:read`
 * as well.
 */
export const createWebhook = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: NewWebhook }, WebhookWithSecret>("POST", "/v1/webhooks");

/** Declines an invitation. */
export const declineInvitation = /* @__PURE__ */ operation<{ path: { id: InvitationId }; headers?: { "Idempotency-Key"?: string } }, void>("POST", "/v1/me/invitations/{id}/decline");

/**
 * Deletes an API key, and the keys that were created with it. For its user, and for owners of its tenant. Within a
 * second, requests with it get 401 everywhere, and connections that it opened are closed.
 */
export const deleteApiKey = /* @__PURE__ */ operation<{ path: { id: ApiKeyId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/api-keys/{id}");

/** Deletes a datacenter without stock. */
export const deleteDatacenter = /* @__PURE__ */ operation<{ path: { id: DatacenterId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/datacenters/{id}");

/** Deletes the record of a deployment. A pending deployment is cancelled; a file that is already on the volume stays. */
export const deleteDeployment = /* @__PURE__ */ operation<{ path: { id: ModelId; deployment_id: DeploymentId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/models/{id}/deployments/{deployment_id}");

/** Deletes a specification without units. */
export const deleteGpuSpec = /* @__PURE__ */ operation<{ path: { id: GpuSpecId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/gpu-specs/{id}");

/** Deletes an instance. It is stopped first; its storage stays. */
export const deleteInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string } }, Instance>("DELETE", "/v1/instances/{id}");

/** Deletes an SSH key of this instance. Connections that it opened end. */
export const deleteInstanceSshKey = /* @__PURE__ */ operation<{ path: { id: InstanceId; key_id: SshKeyId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/instances/{id}/ssh-keys/{key_id}");

/**
 * Removes an account from the caller's user, which can no longer sign in with it. 409 if it is the only way for the
 * caller to sign in.
 */
export const deleteLinkedAccount = /* @__PURE__ */ operation<{ path: { id: LinkedAccountId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/me/linked-accounts/{id}");

/**
 * Deletes a model with all results of its training and its deployments. Jobs that name it and have not started fail.
 * Files on volumes stay.
 */
export const deleteModel = /* @__PURE__ */ operation<{ path: { id: ModelId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/models/{id}");

/** Deletes a credential. The broker refuses new connections with it and closes the open ones. */
export const deleteMqCredential = /* @__PURE__ */ operation<{ path: { id: MqCredentialId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/mq-credentials/{id}");

/**
 * Deletes a passkey of the caller, who can no longer sign in with it. 409 if it is the only way for the caller to sign
 * in.
 */
export const deletePasskey = /* @__PURE__ */ operation<{ path: { id: PasskeyId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/me/passkeys/{id}");

/** Removes the budget of a tenant. The action is recorded. For administrators. */
export const deletePlatformBudget = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/platform-budgets/{tenant_id}");

/** Deletes an instance of any tenant. The action is recorded. For administrators. */
export const deletePlatformInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string } }, PlatformInstance>("DELETE", "/v1/platform-instances/{id}");

/** Removes the share of a tenant, which has the defaults from then on. For administrators. */
export const deletePlatformPoolShare = /* @__PURE__ */ operation<{ path: { id: PoolId; tenant_id: TenantId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/platform-pools/{id}/shares/{tenant_id}");

/** Removes all limits of a tenant. The action is recorded. For administrators. */
export const deletePlatformQuota = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/platform-quotas/{tenant_id}");

/**
 * Deletes a storage of any tenant with its data. Refused while instances use it. The action is recorded. For
 * administrators.
 */
export const deletePlatformStorage = /* @__PURE__ */ operation<{ path: { id: StorageId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string } }, PlatformStorage>("DELETE", "/v1/platform-storages/{id}");

/** Removes the limits that a tenant has of its own. The action is recorded. For administrators. */
export const deletePlatformStorageQuota = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/platform-storage-quotas/{tenant_id}");

/**
 * Deletes a worker, whose token becomes invalid. A worker that runs a job cannot be deleted, except if the platform
 * runs the worker: it is drained, and deleted with its instance when its job has ended. For administrators.
 */
export const deletePlatformWorker = /* @__PURE__ */ operation<{ path: { id: PoolId; worker_id: WorkerId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/platform-pools/{id}/workers/{worker_id}");

/** Deletes a credential. It is removed from the clusters, and no further start or restart uses it. */
export const deleteRegistryCredential = /* @__PURE__ */ operation<{ path: { id: RegistryCredentialId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/registry-credentials/{id}");

/** Deletes an entry. Existing instances keep their template. Administrators only. */
export const deleteService = /* @__PURE__ */ operation<{ path: { id: ImageId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/services/{id}");

/** Deletes a share link. Connections that were opened with it are closed. */
export const deleteShareLink = /* @__PURE__ */ operation<{ path: { id: InstanceId; link_id: ShareLinkId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/instances/{id}/share-links/{link_id}");

/** Deletes an SSH key of the user. Connections that it opened end. */
export const deleteSshKey = /* @__PURE__ */ operation<{ path: { id: SshKeyId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/ssh-keys/{id}");

/** Deletes a storage with its data. Refused while instances use it. */
export const deleteStorage = /* @__PURE__ */ operation<{ path: { id: StorageId }; headers?: { "Idempotency-Key"?: string } }, Storage>("DELETE", "/v1/storages/{id}");

/** Revokes an access key. It becomes invalid at once, or within seconds if the object store does not respond. */
export const deleteStorageCredential = /* @__PURE__ */ operation<{ path: { id: StorageId; access_key_id: string }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/storages/{id}/credentials/{access_key_id}");

/** Deletes a specification that no storage uses. Administrators only. */
export const deleteStorageSpec = /* @__PURE__ */ operation<{ path: { id: StorageSpecId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/storage-specs/{id}");

/**
 * Deletes a tenant with all that it owns. It must be suspended and have no members other than owners. For
 * administrators.
 */
export const deleteTenant = /* @__PURE__ */ operation<{ path: { id: TenantId }; query?: { storage_grace_hours?: number }; headers?: { "Idempotency-Key"?: string } }, Operation>("DELETE", "/v1/tenants/{id}");

/**
 * Deletes a user with memberships and sessions. 409 for the last owner of a tenant and for the last
 * administrator.
 */
export const deleteUser = /* @__PURE__ */ operation<{ path: { id: UserId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/users/{id}");

/** Deletes a webhook and its deliveries. Pending messages are not sent. */
export const deleteWebhook = /* @__PURE__ */ operation<{ path: { id: WebhookId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/webhooks/{id}");

/**
 * Signs out everywhere: ends all sessions of the caller. Access tokens of API keys are revoked too; the keys stay
 * valid and are exchanged for new tokens.
 */
export const endAllSessions = /* @__PURE__ */ operation<Record<string, never>, void>("DELETE", "/v1/sessions");

/**
 * Signs out: ends the session of the request and removes its cookie. Its refresh tokens become invalid at once, its access
 * tokens and cookie within a second.
 */
export const endSession = /* @__PURE__ */ operation<Record<string, never>, void>("DELETE", "/v1/sessions/current");

/** Signs out elsewhere: ends one of the caller's sessions. */
export const endSessionById = /* @__PURE__ */ operation<{ path: { id: SessionId } }, void>("DELETE", "/v1/sessions/{id}");

/** Streams all events that the caller may see, as server-sent events */
export const followAllStream = /* @__PURE__ */ stream<{ query?: { topics?: string }; headers?: { "Last-Event-ID"?: string } }, StreamEvent>("GET", "/v1/stream");

/** Streams changes of the stock. */
export const followStockEventsStream = /* @__PURE__ */ stream<{ query?: { after?: string }; headers?: { "Last-Event-ID"?: string } }, StockEvent>("GET", "/v1/stock-events");

/** Streams the events of the tenant's storages, and of the operations on them. */
export const followStorageEventsStream = /* @__PURE__ */ stream<{ query?: { after?: string }; headers?: { "Last-Event-ID"?: string } }, StorageEvent>("GET", "/v1/storage-events");

/** Returns an API key. For its user, and for owners of its tenant. */
export const getApiKey = /* @__PURE__ */ operation<{ path: { id: ApiKeyId } }, ApiKey>("GET", "/v1/api-keys/{id}");

/**
 * Returns the budget of the tenant for this month: its amount, what was spent, and when the rest will be spent at the
 * current rate.
 */
export const getBudget = /* @__PURE__ */ operation<Record<string, never>, Budget | undefined>("GET", "/v1/budget");

/** Returns a datacenter. */
export const getDatacenter = /* @__PURE__ */ operation<{ path: { id: string } }, Datacenter>("GET", "/v1/datacenters/{id}");

/** Returns a deployment. */
export const getDeployment = /* @__PURE__ */ operation<{ path: { id: ModelId; deployment_id: DeploymentId } }, Deployment>("GET", "/v1/models/{id}/deployments/{deployment_id}");

/** Returns a specification. */
export const getGpuSpec = /* @__PURE__ */ operation<{ path: { id: GpuSpecId } }, GpuSpec>("GET", "/v1/gpu-specs/{id}");

/** Returns an instance. */
export const getInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId } }, Instance>("GET", "/v1/instances/{id}");

/** Reads or follows the log of an instance. */
export const getInstanceLogRaw = /* @__PURE__ */ raw<{ path: { id: InstanceId }; query?: { tail?: number; since?: string; search?: string; attempt?: number; follow?: boolean; timestamps?: boolean }; headers?: { "Last-Event-ID"?: string } }>("GET", "/v1/instances/{id}/log");

/** Reads or follows the log of an instance. */
export const getInstanceLogStream = /* @__PURE__ */ stream<{ path: { id: InstanceId }; query?: { tail?: number; since?: string; search?: string; attempt?: number; follow?: boolean; timestamps?: boolean }; headers?: { "Last-Event-ID"?: string } }, LogLine>("GET", "/v1/instances/{id}/log");

/** Returns the metrics of an instance in a window of time. */
export const getInstanceMetrics = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { from?: Timestamp; to?: Timestamp; step?: number } }, InstanceMetrics>("GET", "/v1/instances/{id}/metrics");

/** Returns an operation. */
export const getInstanceOperation = /* @__PURE__ */ operation<{ path: { id: OperationId } }, Operation>("GET", "/v1/instance-operations/{id}");

/** Returns the confirmed running time of an instance, its holds, and their price. */
export const getInstanceUsage = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { limit?: number; cursor?: string } }, Usage>("GET", "/v1/instances/{id}/usage");

/** Returns a job. */
export const getJob = /* @__PURE__ */ operation<{ path: { id: JobId } }, Job>("GET", "/v1/jobs/{id}");

/** Redirects to the content of a result. The address needs no token, and can be used for 15 minutes. */
export const getJobArtifactContent = /* @__PURE__ */ raw<{ path: { id: JobId; artifact_id: ArtifactId } }>("GET", "/v1/jobs/{id}/artifacts/{artifact_id}/content");

/** Explains why a job waits: the first rule that stops it, its position, and when it is expected to start. */
export const getJobExplanation = /* @__PURE__ */ operation<{ path: { id: JobId } }, JobExplanation>("GET", "/v1/jobs/{id}/explanation");

/**
 * Returns the last part of the output of a job's program, also while it runs. Empty for applications without a program
 * of the tenant, and before the program has written anything.
 */
export const getJobLog = /* @__PURE__ */ operation<{ path: { id: JobId }; query?: { attempt?: number } }, JobLog>("GET", "/v1/jobs/{id}/log");

/**
 * Returns the public keys of access tokens as a JWK Set (RFC 7517): the active key, the next, and those whose
 * tokens may not have expired.
 */
export const getJwks = /* @__PURE__ */ operation<Record<string, never>, JwkSet>("GET", "/.well-known/jwks.json");

/** Returns the caller and the tenants of which they are a member. */
export const getMe = /* @__PURE__ */ operation<Record<string, never>, Me>("GET", "/v1/me");

/** Returns a member. For the tenant's members and administrators. */
export const getMember = /* @__PURE__ */ operation<{ path: { id: TenantId; user_id: UserId } }, Member>("GET", "/v1/tenants/{id}/members/{user_id}");

/** Returns a model. */
export const getModel = /* @__PURE__ */ operation<{ path: { id: ModelId } }, Model>("GET", "/v1/models/{id}");

/** Redirects to the file of a model, safetensors. The address needs no token, and can be used for 15 minutes. */
export const getModelContent = /* @__PURE__ */ raw<{ path: { id: ModelId } }>("GET", "/v1/models/{id}/content");

/** Returns the OpenID Connect discovery document, with only the members that the verification of tokens needs. */
export const getOpenidConfiguration = /* @__PURE__ */ operation<Record<string, never>, Discovery>("GET", "/.well-known/openid-configuration");

/** Returns a passkey of the caller. */
export const getPasskey = /* @__PURE__ */ operation<{ path: { id: PasskeyId } }, Passkey>("GET", "/v1/me/passkeys/{id}");

/**
 * Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
 * administrators.
 */
export const getPlatformAuditVerification = /* @__PURE__ */ operation<Record<string, never>, AuditVerification>("GET", "/v1/platform-audit/verification");

/** Returns the budget of a tenant. For administrators. */
export const getPlatformBudget = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId } }, PlatformBudget | undefined>("GET", "/v1/platform-budgets/{tenant_id}");

/** Returns the health of each module of the platform */
export const getPlatformHealth = /* @__PURE__ */ operation<Record<string, never>, PlatformHealth>("GET", "/v1/platform/health");

/** Returns an instance of any tenant. For administrators. */
export const getPlatformInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId } }, PlatformInstance>("GET", "/v1/platform-instances/{id}");

/**
 * Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
 * administrators.
 */
export const getPlatformInstanceAuditVerification = /* @__PURE__ */ operation<Record<string, never>, AuditVerification>("GET", "/v1/platform-instance-audit/verification");

/**
 * Returns for each datacenter whether it runs code of tenants (their own images, and their programs in images of the
 * catalogue), and what its units report. The policy is the setting `tenant_code` of each cluster's operator. For
 * administrators.
 */
export const getPlatformIsolation = /* @__PURE__ */ operation<Record<string, never>, PlatformIsolation>("GET", "/v1/platform-isolation");

/**
 * Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
 * administrators.
 */
export const getPlatformJobAuditVerification = /* @__PURE__ */ operation<Record<string, never>, AuditVerification>("GET", "/v1/platform-job-audit/verification");

/** Returns a pool. For administrators. */
export const getPlatformPool = /* @__PURE__ */ operation<{ path: { id: PoolId } }, Pool>("GET", "/v1/platform-pools/{id}");

/** Returns the share that was set for a tenant. For administrators. */
export const getPlatformPoolShare = /* @__PURE__ */ operation<{ path: { id: PoolId; tenant_id: TenantId } }, PoolShare | undefined>("GET", "/v1/platform-pools/{id}/shares/{tenant_id}");

/** Returns the limits of a tenant. For administrators. */
export const getPlatformQuota = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId } }, PlatformQuota | undefined>("GET", "/v1/platform-quotas/{tenant_id}");

/**
 * Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
 * administrators.
 */
export const getPlatformStockAuditVerification = /* @__PURE__ */ operation<Record<string, never>, AuditVerification>("GET", "/v1/platform-stock-audit/verification");

/** Returns a storage of any tenant. For administrators. */
export const getPlatformStorage = /* @__PURE__ */ operation<{ path: { id: StorageId } }, PlatformStorage>("GET", "/v1/platform-storages/{id}");

/**
 * Verifies the hash chains of the audit log: reads all entries, and returns those that were changed. For
 * administrators.
 */
export const getPlatformStorageAuditVerification = /* @__PURE__ */ operation<Record<string, never>, AuditVerification>("GET", "/v1/platform-storage-audit/verification");

/** Returns the limits that a tenant has of its own. For administrators. */
export const getPlatformStorageQuota = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId } }, PlatformStorageQuota | undefined>("GET", "/v1/platform-storage-quotas/{tenant_id}");

/** Returns a worker. For administrators. */
export const getPlatformWorker = /* @__PURE__ */ operation<{ path: { id: PoolId; worker_id: WorkerId } }, Worker>("GET", "/v1/platform-pools/{id}/workers/{worker_id}");

/**
 * Returns the capacity of a pool: its workers by node, jobs that wait, and how many start and end within the next
 * hour. Members see the pools that run jobs of their tenant; administrators see all.
 */
export const getPoolCapacity = /* @__PURE__ */ operation<{ path: { id: PoolId } }, PoolCapacity>("GET", "/v1/pools/{id}/capacity");

/** Returns the share of the tenant in a pool and what it uses. The values are at most a second old. */
export const getPoolShare = /* @__PURE__ */ operation<{ path: { id: PoolId } }, ShareInUse>("GET", "/v1/pools/{id}/share");

/** Returns the limits of the tenant and its current usage. */
export const getQuota = /* @__PURE__ */ operation<Record<string, never>, Quota>("GET", "/v1/quota");

/** Returns an entry of the catalogue. */
export const getService = /* @__PURE__ */ operation<{ path: { id: ImageId } }, ServiceImage>("GET", "/v1/services/{id}");

/** Returns host, port and host key of the SSH endpoint. */
export const getSsh = /* @__PURE__ */ operation<Record<string, never>, SshEndpoint>("GET", "/v1/ssh");

/**
 * Returns how many units were available, inactive and used over time, by hour or day. The stock is counted every
 * minute. Hours are kept for 62 days and days for three years, also for deleted specifications and datacenters.
 */
export const getStockCapacity = /* @__PURE__ */ operation<{ query?: { gpu_spec?: string; datacenter?: string; step?: CapacityStep; from?: Timestamp; to?: Timestamp } }, StockCapacity>("GET", "/v1/stock-capacity");

/** Returns an addition or removal of stock. The members of its `progress` are those of `StockProgress`. */
export const getStockOperation = /* @__PURE__ */ operation<{ path: { id: OperationId } }, Operation>("GET", "/v1/stock-operations/{id}");

/** Returns a unit with its holder and its previous holders. */
export const getStockUnit = /* @__PURE__ */ operation<{ path: { id: UnitId } }, StockUnitDetail>("GET", "/v1/stock-units/{id}");

/** Returns a storage. */
export const getStorage = /* @__PURE__ */ operation<{ path: { id: StorageId } }, Storage>("GET", "/v1/storages/{id}");

/** Returns an operation. It can be read after its storage was deleted. */
export const getStorageOperation = /* @__PURE__ */ operation<{ path: { id: OperationId } }, Operation>("GET", "/v1/storage-operations/{id}");

/** Returns the limits of the tenant and its current usage. */
export const getStorageQuota = /* @__PURE__ */ operation<Record<string, never>, StorageQuota>("GET", "/v1/storage-quota");

/** Returns a storage specification. */
export const getStorageSpec = /* @__PURE__ */ operation<{ path: { id: string } }, StorageSpec>("GET", "/v1/storage-specs/{id}");

/** Returns a tenant. For its members and administrators. */
export const getTenant = /* @__PURE__ */ operation<{ path: { id: TenantId } }, Tenant>("GET", "/v1/tenants/{id}");

/** Returns the operation that deletes a tenant. For administrators. */
export const getTenantOperation = /* @__PURE__ */ operation<{ path: { id: OperationId } }, Operation>("GET", "/v1/tenant-operations/{id}");

/** Returns whether the caller's sign-in requires codes. */
export const getTotp = /* @__PURE__ */ operation<Record<string, never>, Totp>("GET", "/v1/me/totp");

/** Returns an upload. Its state is `ready` when its content is there. */
export const getUpload = /* @__PURE__ */ operation<{ path: { id: UploadId } }, Upload>("GET", "/v1/uploads/{id}");

/** Returns a user. */
export const getUser = /* @__PURE__ */ operation<{ path: { id: UserId } }, User>("GET", "/v1/users/{id}");

/** Returns a webhook. */
export const getWebhook = /* @__PURE__ */ operation<{ path: { id: WebhookId } }, Webhook>("GET", "/v1/webhooks/{id}");

/** Lists API keys of the token's tenant, oldest first. Owners see the keys of all members, other users only their own. */
export const listApiKeys = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageApiKey>("GET", "/v1/api-keys");

/** Lists the audit log of the tenant: sign-ins and changes of members and invitations, newest first. For owners. */
export const listAuditEntries = /* @__PURE__ */ operation<{ query?: { user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/audit");

/**
 * Lists the checkpoints and base models that workers have, by pool, kind and name. Members see those of the pools that
 * run jobs of their tenant; administrators see all. Models of workers that do not report them are not listed.
 */
export const listBaseModels = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string; pool?: string; kind?: BaseModelKind } }, PageBaseModel>("GET", "/v1/base-models");

/** Lists datacenters by name. */
export const listDatacenters = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageDatacenter>("GET", "/v1/datacenters");

/**
 * Lists refused messages of the tenant, newest first. They are kept for 30 days. If very many are refused in a short
 * time, only some of them are kept.
 */
export const listDeadMessages = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageDeadMessage>("GET", "/v1/mq-dead");

/** Lists the deployments of a model, newest first. */
export const listDeployments = /* @__PURE__ */ operation<{ path: { id: ModelId }; query?: { limit?: number; cursor?: string } }, PageDeployment>("GET", "/v1/models/{id}/deployments");

/** Lists or streams the events of the tenant's instances. */
export const listEvents = /* @__PURE__ */ operation<{ query?: { instance_id?: InstanceId; type?: 
  | "instance.created"
  | "instance.updated"
  | "instance.start_requested"
  | "instance.stop_requested"
  | "instance.restart_requested"
  | "instance.deletion_requested"
  | "instance.storage_attached"
  | "instance.storage_detached"
  | "instance.unit_claimed"
  | "instance.started"
  | "instance.interrupted"
  | "instance.recalled"
  | "instance.recovered"
  | "instance.run_ended"
  | "instance.start_failed"
  | "instance.failed"
  | "instance.stopped"
  | "instance.hold_started"
  | "instance.hold_ended"
  | "instance.idle_stop_announced"
  | "instance.idle_stop_withdrawn"
  | "instance.deleted"
  | "instance.terminal_opened"
  | "instance.terminal_closed"
  | "budget.reached"
  | "budget.stopping"
  | "budget.stopped"
  | "budget.resumed"; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, PageEvent>("GET", "/v1/events");

/** Lists or streams the events of the tenant's instances. */
export const listEventsStream = /* @__PURE__ */ stream<{ query?: { instance_id?: InstanceId; type?: 
  | "instance.created"
  | "instance.updated"
  | "instance.start_requested"
  | "instance.stop_requested"
  | "instance.restart_requested"
  | "instance.deletion_requested"
  | "instance.storage_attached"
  | "instance.storage_detached"
  | "instance.unit_claimed"
  | "instance.started"
  | "instance.interrupted"
  | "instance.recalled"
  | "instance.recovered"
  | "instance.run_ended"
  | "instance.start_failed"
  | "instance.failed"
  | "instance.stopped"
  | "instance.hold_started"
  | "instance.hold_ended"
  | "instance.idle_stop_announced"
  | "instance.idle_stop_withdrawn"
  | "instance.deleted"
  | "instance.terminal_opened"
  | "instance.terminal_closed"
  | "budget.reached"
  | "budget.stopping"
  | "budget.stopped"
  | "budget.resumed"; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, Event>("GET", "/v1/events");

/** Lists the prices of a specification, newest first. */
export const listGpuSpecPrices = /* @__PURE__ */ operation<{ path: { id: GpuSpecId }; query?: { limit?: number; cursor?: string } }, PagePrice>("GET", "/v1/gpu-specs/{id}/prices");

/** Lists specifications by name. */
export const listGpuSpecs = /* @__PURE__ */ operation<{ query?: { name_prefix?: string; gpu_model?: string; state?: GpuSpecState; limit?: number; cursor?: string } }, PageGpuSpec>("GET", "/v1/gpu-specs");

/** Lists the audit log of the tenant's instances and their keys, newest first. For owners. */
export const listInstanceAuditEntries = /* @__PURE__ */ operation<{ query?: { user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/instance-audit");

/** Lists or streams the events of an instance. */
export const listInstanceEvents = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { type?: 
  | "instance.created"
  | "instance.updated"
  | "instance.start_requested"
  | "instance.stop_requested"
  | "instance.restart_requested"
  | "instance.deletion_requested"
  | "instance.storage_attached"
  | "instance.storage_detached"
  | "instance.unit_claimed"
  | "instance.started"
  | "instance.interrupted"
  | "instance.recalled"
  | "instance.recovered"
  | "instance.run_ended"
  | "instance.start_failed"
  | "instance.failed"
  | "instance.stopped"
  | "instance.hold_started"
  | "instance.hold_ended"
  | "instance.idle_stop_announced"
  | "instance.idle_stop_withdrawn"
  | "instance.deleted"
  | "instance.terminal_opened"
  | "instance.terminal_closed"
  | "budget.reached"
  | "budget.stopping"
  | "budget.stopped"
  | "budget.resumed"; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, PageEvent>("GET", "/v1/instances/{id}/events");

/** Lists or streams the events of an instance. */
export const listInstanceEventsStream = /* @__PURE__ */ stream<{ path: { id: InstanceId }; query?: { type?: 
  | "instance.created"
  | "instance.updated"
  | "instance.start_requested"
  | "instance.stop_requested"
  | "instance.restart_requested"
  | "instance.deletion_requested"
  | "instance.storage_attached"
  | "instance.storage_detached"
  | "instance.unit_claimed"
  | "instance.started"
  | "instance.interrupted"
  | "instance.recalled"
  | "instance.recovered"
  | "instance.run_ended"
  | "instance.start_failed"
  | "instance.failed"
  | "instance.stopped"
  | "instance.hold_started"
  | "instance.hold_ended"
  | "instance.idle_stop_announced"
  | "instance.idle_stop_withdrawn"
  | "instance.deleted"
  | "instance.terminal_opened"
  | "instance.terminal_closed"
  | "budget.reached"
  | "budget.stopping"
  | "budget.stopped"
  | "budget.resumed"; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, Event>("GET", "/v1/instances/{id}/events");

/** Lists the kept logs of an instance, one for each start, newest first. */
export const listInstanceLogs = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { limit?: number; cursor?: string } }, PageInstanceLog>("GET", "/v1/instances/{id}/logs");

/** Lists the tenant's operations, newest first. */
export const listInstanceOperations = /* @__PURE__ */ operation<{ query?: { instance_id?: InstanceId; limit?: number; cursor?: string } }, PageOperation>("GET", "/v1/instance-operations");

/** Lists the SSH keys that open this instance only, newest first. */
export const listInstanceSshKeys = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { limit?: number; cursor?: string } }, PageSshKey>("GET", "/v1/instances/{id}/ssh-keys");

/** Lists the tenant's instances, newest first unless `sort` says otherwise. */
export const listInstances = /* @__PURE__ */ operation<{ query?: { state?: InstanceState[]; name?: string; sort?: "created_at" | "-created_at" | "name" | "-name"; fields?: string; include?: "total"[]; limit?: number; cursor?: string } }, CountedPageInstance>("GET", "/v1/instances");

/** Lists the open invitations of a tenant, oldest first. For owners and administrators. */
export const listInvitations = /* @__PURE__ */ operation<{ path: { id: TenantId }; query?: { limit?: number; cursor?: string } }, PageInvitation>("GET", "/v1/tenants/{id}/invitations");

/** Lists the results of a job, oldest first. */
export const listJobArtifacts = /* @__PURE__ */ operation<{ path: { id: JobId }; query?: { limit?: number; cursor?: string } }, PageArtifact>("GET", "/v1/jobs/{id}/artifacts");

/** Lists the attempts of a job, newest first, with what each costs. */
export const listJobAttempts = /* @__PURE__ */ operation<{ path: { id: JobId }; query?: { limit?: number; cursor?: string } }, PageJobAttempt>("GET", "/v1/jobs/{id}/attempts");

/** Lists the audit log of the tenant's jobs: who submitted and cancelled them, newest first. For owners. */
export const listJobAuditEntries = /* @__PURE__ */ operation<{ query?: { user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/job-audit");

/** Lists or streams the events of a job. */
export const listJobEvents = /* @__PURE__ */ operation<{ path: { id: JobId }; query?: { type?: JobEventType; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, PageJobEvent | undefined>("GET", "/v1/jobs/{id}/events");

/** Lists or streams the events of a job. */
export const listJobEventsStream = /* @__PURE__ */ stream<{ path: { id: JobId }; query?: { type?: JobEventType; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, JobEvent>("GET", "/v1/jobs/{id}/events");

/**
 * Lists the cost of the tenant's jobs in a window of time, by day, kind, application, pool, GPU specification, or
 * charge.
 */
export const listJobUsage = /* @__PURE__ */ operation<{ query?: { from?: Timestamp; to?: Timestamp; group_by?: "day" | "kind" | "application" | "pool" | "spec" | "charge"; limit?: number; cursor?: string } }, PageJobUsageGroup>("GET", "/v1/job-usage");

/** Lists the jobs of the tenant, newest first unless `sort` says otherwise. */
export const listJobs = /* @__PURE__ */ operation<{ query?: { state?: JobState[]; kind?: JobKind; level?: JobLevel; application?: string; group?: string; req_no?: string; sort?: "created_at" | "-created_at" | "ended_at" | "-ended_at" | "cost" | "-cost"; fields?: string; include?: "total"[]; limit?: number; cursor?: string } }, CountedPageJob>("GET", "/v1/jobs");

/** Lists the accounts of OpenID providers with which the caller can sign in. */
export const listLinkedAccounts = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageLinkedAccount>("GET", "/v1/me/linked-accounts");

/** Lists the members of a tenant. For its members and administrators. */
export const listMembers = /* @__PURE__ */ operation<{ path: { id: TenantId }; query?: { limit?: number; cursor?: string } }, PageMember>("GET", "/v1/tenants/{id}/members");

/** Lists the models of the tenant, newest first. */
export const listModels = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageModel>("GET", "/v1/models");

/** Lists the credentials of the tenant, oldest first. */
export const listMqCredentials = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageMqCredential>("GET", "/v1/mq-credentials");

/** Lists the GPU specifications that are for sale, by name, with prices and availability in datacenters. */
export const listOffers = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageOffer>("GET", "/v1/offers");

/** Lists the caller's passkeys, oldest first. */
export const listPasskeys = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PagePasskey>("GET", "/v1/me/passkeys");

/**
 * Lists the audit log of a tenant or of the platform: sign-ins and changes of members and invitations, newest
 * first. For administrators.
 */
export const listPlatformAuditEntries = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/platform-audit");

/** Lists the tenants that have a budget, by id. For administrators. */
export const listPlatformBudgets = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PagePlatformBudget>("GET", "/v1/platform-budgets");

/** Lists the actions of administrators on an instance, newest first. Also for deleted instances. For administrators. */
export const listPlatformInstanceActions = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { limit?: number; cursor?: string } }, PageAdminAction>("GET", "/v1/platform-instances/{id}/actions");

/**
 * Lists the audit log of instances and their keys, of a tenant or of the platform, newest first. For
 * administrators.
 */
export const listPlatformInstanceAuditEntries = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/platform-instance-audit");

/** Lists the instances of all tenants, newest first unless `sort` says otherwise. For administrators. */
export const listPlatformInstances = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; state?: InstanceState[]; name?: string; sort?: "created_at" | "-created_at" | "name" | "-name"; fields?: string; include?: "total"[]; limit?: number; cursor?: string } }, CountedPagePlatformInstance>("GET", "/v1/platform-instances");

/** Lists the audit log of jobs and pools, of a tenant or of the platform, newest first. For administrators. */
export const listPlatformJobAuditEntries = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/platform-job-audit");

/** Lists the cost of the jobs of all tenants in a window of time. For administrators. */
export const listPlatformJobUsage = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; from?: Timestamp; to?: Timestamp; group_by?: "tenant" | "day" | "kind" | "application" | "pool" | "spec" | "charge"; limit?: number; cursor?: string } }, PageJobUsageGroup>("GET", "/v1/platform-job-usage");

/** Returns or streams the newest log lines of the platform's processes */
export const listPlatformLogs = /* @__PURE__ */ operation<{ query?: { module?: string; level?: LogLevel; request_id?: string; limit?: number } }, PlatformLogs>("GET", "/v1/platform/logs");

/**
 * Lists the shares that were set for tenants in a pool, by tenant. All other tenants have the defaults. For
 * administrators.
 */
export const listPlatformPoolShares = /* @__PURE__ */ operation<{ path: { id: PoolId }; query?: { limit?: number; cursor?: string } }, PagePoolShare>("GET", "/v1/platform-pools/{id}/shares");

/** Lists pools, oldest first. For administrators. */
export const listPlatformPools = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PagePool>("GET", "/v1/platform-pools");

/** Lists the tenants that have limits, by id. For administrators. */
export const listPlatformQuotas = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PagePlatformQuota>("GET", "/v1/platform-quotas");

/** Lists connections over SSH to instances of all tenants, newest first. For administrators. */
export const listPlatformSshSessions = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; instance_id?: InstanceId; limit?: number; cursor?: string } }, PageSshSession>("GET", "/v1/platform-ssh-sessions");

/**
 * Lists the audit log of the stock and its catalogue, of a tenant or of the platform, newest first. For
 * administrators.
 */
export const listPlatformStockAuditEntries = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/platform-stock-audit");

/** Lists the actions of administrators on a storage, newest first. Also for deleted storages. For administrators. */
export const listPlatformStorageActions = /* @__PURE__ */ operation<{ path: { id: StorageId }; query?: { limit?: number; cursor?: string } }, PageAdminAction>("GET", "/v1/platform-storages/{id}/actions");

/**
 * Lists the audit log of storages and credentials, of a tenant or of the platform, newest first. For
 * administrators.
 */
export const listPlatformStorageAuditEntries = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/platform-storage-audit");

/** Lists the tenants that have limits of their own, by id. For administrators. */
export const listPlatformStorageQuotas = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PagePlatformStorageQuota>("GET", "/v1/platform-storage-quotas");

/** Lists the storages of all tenants, newest first unless `sort` says otherwise. For administrators. */
export const listPlatformStorages = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; state?: StorageState[]; kind?: StorageKind; name?: string; sort?: "created_at" | "-created_at" | "name" | "-name" | "size_gib" | "-size_gib"; fields?: string; include?: "total"[]; limit?: number; cursor?: string } }, CountedPagePlatformStorage>("GET", "/v1/platform-storages");

/** Lists the usage of all tenants in a window of time. For administrators. */
export const listPlatformUsage = /* @__PURE__ */ operation<{ query?: { tenant_id?: TenantId; from?: Timestamp; to?: Timestamp; group_by?: "tenant" | "instance" | "day" | "spec" | "kind"; limit?: number; cursor?: string } }, PageUsageGroup>("GET", "/v1/platform-usage");

/** Lists the workers of a pool, oldest first. For administrators. */
export const listPlatformWorkers = /* @__PURE__ */ operation<{ path: { id: PoolId }; query?: { limit?: number; cursor?: string } }, PageWorker>("GET", "/v1/platform-pools/{id}/workers");

/** Lists the pools that run jobs of the tenant, oldest first. */
export const listPools = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageUsablePool>("GET", "/v1/pools");

/** Lists the open invitations to the caller's e-mail address, oldest first. */
export const listReceivedInvitations = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageReceivedInvitation>("GET", "/v1/me/invitations");

/** Lists the tenant's registry credentials, newest first, without their secrets. */
export const listRegistryCredentials = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageRegistryCredential>("GET", "/v1/registry-credentials");

/** Lists the catalogue by service and version. Administrators see disabled entries. */
export const listServices = /* @__PURE__ */ operation<{ query?: { service?: string; limit?: number; cursor?: string } }, PageServiceImage>("GET", "/v1/services");

/** Lists the caller's sessions, oldest first. */
export const listSessions = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageSession>("GET", "/v1/sessions");

/** Lists the valid share links of an instance, newest first. */
export const listShareLinks = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { limit?: number; cursor?: string } }, PageShareLink>("GET", "/v1/instances/{id}/share-links");

/** Lists the OpenID providers with whose accounts people can sign in. */
export const listSignInProviders = /* @__PURE__ */ operation<Record<string, never>, SignInProviders>("GET", "/v1/sign-in-providers");

/** Lists all signing keys, in the order in which they sign. */
export const listSigningKeys = /* @__PURE__ */ operation<Record<string, never>, PageSigningKey>("GET", "/v1/signing-keys");

/** Lists the user's SSH keys, newest first. */
export const listSshKeys = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageSshKey>("GET", "/v1/ssh-keys");

/** Lists connections over SSH to the tenant's instances, newest first. For owners. */
export const listSshSessions = /* @__PURE__ */ operation<{ query?: { instance_id?: InstanceId; limit?: number; cursor?: string } }, PageSshSession>("GET", "/v1/ssh-sessions");

/** Lists the stock by specification and datacenter, without empty combinations. */
export const listStock = /* @__PURE__ */ operation<{ query?: { spec_name?: string; datacenter?: string; limit?: number; cursor?: string } }, PageStockRow>("GET", "/v1/stock");

/** Lists additions and removals of stock, newest first. */
export const listStockOperations = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageOperation>("GET", "/v1/stock-operations");

/** Lists repaired drift between clusters and stock, newest first. */
export const listStockRepairs = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageRepair>("GET", "/v1/stock-repairs");

/** Lists units in the order of their addition, with the holders of all tenants. */
export const listStockUnits = /* @__PURE__ */ operation<{ query?: { gpu_spec?: string; datacenter?: string; state?: UnitState; node?: string; instance_id?: InstanceId; tenant_id?: TenantId; limit?: number; cursor?: string } }, PageStockUnit>("GET", "/v1/stock-units");

/** Lists the audit log of the tenant's storages and credentials, newest first. For owners. */
export const listStorageAuditEntries = /* @__PURE__ */ operation<{ query?: { user_id?: UserId; by?: "person" | "service"; operation?: string; from?: Timestamp; to?: Timestamp; limit?: number; cursor?: string } }, PageAuditEntry>("GET", "/v1/storage-audit");

/** Lists the access keys of a bucket, oldest first, without their secrets. */
export const listStorageCredentials = /* @__PURE__ */ operation<{ path: { id: StorageId }; query?: { limit?: number; cursor?: string } }, PageBucketCredential>("GET", "/v1/storages/{id}/credentials");

/** Lists the storage specifications that are for sale, by name, with prices. */
export const listStorageOffers = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageStorageOffer>("GET", "/v1/storage-offers");

/** Lists the operations on the tenant's storages, newest first. */
export const listStorageOperations = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string; storage_id?: StorageId } }, PageOperation>("GET", "/v1/storage-operations");

/** Lists storage specifications by name. */
export const listStorageSpecs = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string; name_prefix?: string; kind?: StorageKind; state?: StorageSpecState } }, PageStorageSpec>("GET", "/v1/storage-specs");

/** Lists the storages of the tenant, newest first unless `sort` says otherwise. */
export const listStorages = /* @__PURE__ */ operation<{ query?: { state?: StorageState[]; kind?: StorageKind; name?: string; sort?: "created_at" | "-created_at" | "name" | "-name" | "size_gib" | "-size_gib"; fields?: string; include?: "total"[]; limit?: number; cursor?: string } }, CountedPageStorage>("GET", "/v1/storages");

/** Lists or streams the events of the tenant's jobs. */
export const listTenantJobEvents = /* @__PURE__ */ operation<{ query?: { type?: JobEventType; kind?: JobKind; state?: JobState; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, PageJobEvent>("GET", "/v1/job-events");

/** Lists or streams the events of the tenant's jobs. */
export const listTenantJobEventsStream = /* @__PURE__ */ stream<{ query?: { type?: JobEventType; kind?: JobKind; state?: JobState; limit?: number; cursor?: string; after?: string }; headers?: { "Last-Event-ID"?: string } }, JobEvent>("GET", "/v1/job-events");

/** Lists all tenants, oldest first. For administrators. */
export const listTenants = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string; name_prefix?: string; state?: TenantState } }, PageTenant>("GET", "/v1/tenants");

/** Lists the usage of the tenant in a window of time, by instance, day, GPU specification or kind. */
export const listUsage = /* @__PURE__ */ operation<{ query?: { from?: Timestamp; to?: Timestamp; group_by?: "instance" | "day" | "spec" | "kind"; limit?: number; cursor?: string } }, PageUsageGroup>("GET", "/v1/usage");

/** Lists the memberships of a user, oldest first, all on one page. */
export const listUserMemberships = /* @__PURE__ */ operation<{ path: { id: UserId } }, PageMembership>("GET", "/v1/users/{id}/memberships");

/** Lists all users, oldest first. */
export const listUsers = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string; email_prefix?: string } }, PageUser>("GET", "/v1/users");

/** Lists the deliveries to a webhook, newest first. They are kept for a week after their end. */
export const listWebhookDeliveries = /* @__PURE__ */ operation<{ path: { id: WebhookId }; query?: { limit?: number; cursor?: string; state?: DeliveryState } }, PageWebhookDelivery>("GET", "/v1/webhooks/{id}/deliveries");

/** Lists the webhooks of the tenant, oldest first. */
export const listWebhooks = /* @__PURE__ */ operation<{ query?: { limit?: number; cursor?: string } }, PageWebhook>("GET", "/v1/webhooks");

/** Postpones the idle stop of a running instance: its idle time starts again from zero. */
export const postponeInstanceIdleStop = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string } }, Instance>("POST", "/v1/instances/{id}/postpone-idle-stop");

/**
 * Sets the monthly budget of a tenant; send `If-Match: *` for a tenant without one. It applies at once and includes
 * what was spent since the beginning of the month: a larger budget allows instances to start again, an exhausted one
 * stops them. The action is recorded. For administrators.
 */
export const putPlatformBudget = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string; "If-Match"?: string }; body: BudgetTerms }, PlatformBudget>("PUT", "/v1/platform-budgets/{tenant_id}");

/**
 * Sets the whole share of a tenant; send `If-Match: *` for a tenant without one. It applies to jobs that start
 * afterwards: running jobs continue, unless they use workers that are guaranteed to other tenants. For administrators.
 */
export const putPlatformPoolShare = /* @__PURE__ */ operation<{ path: { id: PoolId; tenant_id: TenantId }; headers?: { "Idempotency-Key"?: string; "If-Match"?: string }; body: Share }, PoolShare>("PUT", "/v1/platform-pools/{id}/shares/{tenant_id}");

/**
 * Sets all limits of a tenant; send `If-Match: *` for a tenant without limits. Running instances continue; an instance
 * that would exceed a limit is not started. The action is recorded. For administrators.
 */
export const putPlatformQuota = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string; "If-Match"?: string }; body: Limits }, PlatformQuota>("PUT", "/v1/platform-quotas/{tenant_id}");

/**
 * Sets the limits of a tenant; send `If-Match: *` for a tenant without limits of its own. Existing storages stay. The
 * action is recorded. For administrators.
 */
export const putPlatformStorageQuota = /* @__PURE__ */ operation<{ path: { tenant_id: TenantId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string; "If-Match"?: string }; body: StorageLimits }, PlatformStorageQuota>("PUT", "/v1/platform-storage-quotas/{tenant_id}");

/**
 * Returns the price of an instance, and whether it would start now. Takes the same body as the creation, and stores
 * nothing.
 */
export const quoteInstance = /* @__PURE__ */ operation<{ body: NewInstance }, Quote>("POST", "/v1/instances/quote");

/** Returns when a job would start and end, and what it would cost. Submits nothing. */
export const quoteJob = /* @__PURE__ */ operation<{ body: NewJob }, JobQuote>("POST", "/v1/jobs/quote");

/**
 * Returns the jobs of request numbers with their states, and sends the latest event of each job again to the tenant's
 * event queue, if it has one.
 */
export const reconcileJobs = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: Reconciliation }, Reconciled>("POST", "/v1/jobs/reconciliations");

/**
 * Completes a sign-in: the provider redirects the browser here. Sets the cookie of a session and redirects to the path
 * that was given at the start. Only the browser that began the sign-in can complete it, within ten minutes. After
 * `start_account_link`, it links the account instead, and the session does not change.
 */
export const redeemSignIn = /* @__PURE__ */ raw<{ path: { provider: string }; query?: { state?: string; code?: string; error?: string; iss?: string } }>("GET", "/v1/sign-in/{provider}/callback");

/**
 * Exchanges a refresh token for new tokens. Each refresh token can be used once. One that is used again more
 * than a few seconds later counts as stolen and ends the session.
 */
export const refreshSession = /* @__PURE__ */ operation<{ body: Refresh }, SessionTokens>("POST", "/v1/sessions/refresh");

/** Ends the hold of an instance that is stopped or stopping. */
export const releaseInstanceHold = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string } }, Instance>("DELETE", "/v1/instances/{id}/hold");

/**
 * Removes a member from a tenant. For owners and administrators, and for members who leave. The last owner must
 * remain. Rules of OpenID providers do not add the user again; an invitation or an administrator can.
 */
export const removeMember = /* @__PURE__ */ operation<{ path: { id: TenantId; user_id: UserId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/tenants/{id}/members/{user_id}");

/**
 * Removes units from the stock: inactive ones first, and none that an instance has claimed or occupies. The operation
 * succeeds when they are gone from the cluster.
 */
export const removeStock = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: StockChange }, Operation>("POST", "/v1/stock/removals");

/**
 * Removes this unit from the stock, unless an instance has claimed or occupies it. The operation succeeds when the
 * unit is gone from the cluster. While the unit is being removed, a repeated call returns that operation; afterwards
 * it returns 404.
 */
export const removeStockUnit = /* @__PURE__ */ operation<{ path: { id: UnitId }; headers?: { "Idempotency-Key"?: string } }, Operation>("DELETE", "/v1/stock-units/{id}");

/** Removes the second factor. Requires one of its codes, or a recovery code. */
export const removeTotp = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: TotpCode }, void>("POST", "/v1/me/totp/remove");

/** Processes a refused message as if it had just arrived. No effect if its job was submitted in the meantime. */
export const replayDeadMessage = /* @__PURE__ */ operation<{ path: { id: DeadMessageId }; headers?: { "Idempotency-Key"?: string } }, Replay>("POST", "/v1/mq-dead/{id}/replay");

/** Deletes all passkeys of a user, for example after the loss of a device. For administrators. */
export const resetPasskeys = /* @__PURE__ */ operation<{ path: { id: UserId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/users/{id}/passkeys");

/** Removes the second factor of a user who has lost the device and the recovery codes. For administrators. */
export const resetTotp = /* @__PURE__ */ operation<{ path: { id: UserId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/users/{id}/totp");

/** Restarts a running instance in its unit. */
export const restartInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string } }, Instance>("POST", "/v1/instances/{id}/restart");

/**
 * Requests the next key now. It appears in `/v1/signing-keys` with the returned id within seconds, is published at once
 * and signs after `publish_before`. The active key stays published until its last token has expired. 409 while a next
 * key is already requested or published.
 */
export const rotateSigningKeys = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string } }, SigningKeyRequest>("POST", "/v1/signing-keys/rotate");

/**
 * Replaces the secret of a webhook. For 24 hours, messages are also signed with the previous one. The new secret is
 * returned once.
 */
export const rotateWebhookSecret = /* @__PURE__ */ operation<{ path: { id: WebhookId }; headers?: { "Idempotency-Key"?: string } }, WebhookWithSecret>("POST", "/v1/webhooks/{id}/rotate-secret");

/**
 * Begins to link an account of a provider to the caller's user, for browsers: redirect the browser to the `url` of the
 * response within ten minutes. The provider redirects it back to `redeem_sign_in`, which links the account that was
 * used there, unless the caller's session has ended. Stores nothing, and needs no `Idempotency-Key`; the response sets
 * a cookie. Requires a sign-in within the last minutes. API keys cannot link accounts.
 */
export const startAccountLink = /* @__PURE__ */ operation<{ body: NewAccountLink }, AccountLink>("POST", "/v1/me/linked-accounts");

/** Starts a stopped instance. */
export const startInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query?: { wait?: boolean }; headers?: { "Idempotency-Key"?: string } }, Instance>("POST", "/v1/instances/{id}/start");

/** Begins a sign-in: redirects the browser to the provider. */
export const startSignIn = /* @__PURE__ */ raw<{ path: { provider: string }; query?: { return_to?: string } }>("GET", "/v1/sign-in/{provider}");

/**
 * Enables the second factor if the first code is correct: codes are required at sign-in from now on. Returns the
 * recovery codes once.
 */
export const startTotp = /* @__PURE__ */ operation<{ headers?: { "Idempotency-Key"?: string }; body: TotpCode }, RecoveryCodes>("POST", "/v1/me/totp/start");

/** Stops an instance. It keeps its storage and its URL, and with a hold its unit. */
export const stopInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string }; body?: StopOptions | null }, Instance>("POST", "/v1/instances/{id}/stop");

/** Stops an instance of any tenant. The tenant sees the reason. The action is recorded. For administrators. */
export const stopPlatformInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; query: { reason: string }; headers?: { "Idempotency-Key"?: string } }, PlatformInstance>("POST", "/v1/platform-instances/{id}/stop");

/**
 * Takes over a credential: the caller, an owner, becomes its maker, and it ends with the caller's rights. Everyone who
 * knows its password can still use it; to prevent that, replace it by a new one.
 */
export const takeOverMqCredential = /* @__PURE__ */ operation<{ path: { id: MqCredentialId }; headers?: { "Idempotency-Key"?: string } }, MqCredential>("POST", "/v1/mq-credentials/{id}/take-over");

/**
 * Takes over an access key: the caller, an owner, becomes its maker, and it ends with the caller's rights. Everyone
 * who knows its secret can still use it; to prevent that, replace it by a new one.
 */
export const takeOverStorageCredential = /* @__PURE__ */ operation<{ path: { id: StorageId; access_key_id: string }; headers?: { "Idempotency-Key"?: string } }, BucketCredential>("POST", "/v1/storages/{id}/credentials/{access_key_id}/take-over");

/**
 * Takes over a webhook: the caller, an owner, becomes its maker. A webhook that was disabled because the rights of its
 * maker ended is enabled again.
 */
export const takeOverWebhook = /* @__PURE__ */ operation<{ path: { id: WebhookId }; headers?: { "Idempotency-Key"?: string } }, Webhook>("POST", "/v1/webhooks/{id}/take-over");

/** Sends a message of the type `webhook.test` once, also if the webhook is disabled. `deliveries` shows the result. */
export const testWebhook = /* @__PURE__ */ operation<{ path: { id: WebhookId }; headers?: { "Idempotency-Key"?: string } }, WebhookDelivery>("POST", "/v1/webhooks/{id}/test");

/**
 * Changes a datacenter, or drains it. A draining datacenter accepts no new stock and no new claims. Its instances
 * continue, and its free stock can be removed.
 */
export const updateDatacenter = /* @__PURE__ */ operation<{ path: { id: DatacenterId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: DatacenterPatch }, Datacenter>("PATCH", "/v1/datacenters/{id}");

/**
 * Changes a specification. A new price is effective at once; units that are claimed already keep the price of their
 * claim.
 */
export const updateGpuSpec = /* @__PURE__ */ operation<{ path: { id: GpuSpecId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: GpuSpecPatch }, GpuSpec>("PATCH", "/v1/gpu-specs/{id}");

/**
 * Changes an instance: its name, `on_node_loss` and `idle_stop` at any time, the other fields only while it is
 * stopped.
 */
export const updateInstance = /* @__PURE__ */ operation<{ path: { id: InstanceId }; headers?: { "Idempotency-Key"?: string; "If-Match"?: string }; body: InstanceChange }, Instance>("PATCH", "/v1/instances/{id}");

/** Changes the priority, level or deadline of a job that waits. */
export const updateJob = /* @__PURE__ */ operation<{ path: { id: JobId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: JobChange }, Job>("PATCH", "/v1/jobs/{id}");

/** Changes the caller's name and language. */
export const updateMe = /* @__PURE__ */ operation<{ headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: MeChange }, Me>("PATCH", "/v1/me");

/**
 * Changes the role of a member. For owners and administrators. The last owner must remain one. API keys cannot add or
 * change owners.
 */
export const updateMember = /* @__PURE__ */ operation<{ path: { id: TenantId; user_id: UserId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: MemberChange }, Member>("PATCH", "/v1/tenants/{id}/members/{user_id}");

/** Changes the name of a model. */
export const updateModel = /* @__PURE__ */ operation<{ path: { id: ModelId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: ModelChange }, Model>("PATCH", "/v1/models/{id}");

/** Renames a passkey of the caller. */
export const updatePasskey = /* @__PURE__ */ operation<{ path: { id: PasskeyId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: PasskeyChange }, Passkey>("PATCH", "/v1/me/passkeys/{id}");

/** Changes the workers that the platform runs, the factors of prices, and the applications. For administrators. */
export const updatePlatformPool = /* @__PURE__ */ operation<{ path: { id: PoolId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: PoolPatch }, Pool>("PATCH", "/v1/platform-pools/{id}");

/** Changes an entry. Existing instances keep their template. Administrators only. */
export const updateService = /* @__PURE__ */ operation<{ path: { id: ImageId }; headers?: { "Idempotency-Key"?: string; "If-Match"?: string }; body: ServiceImageChange }, ServiceImage>("PATCH", "/v1/services/{id}");

/** Switches the session of the request to another tenant. */
export const updateSession = /* @__PURE__ */ operation<{ body: SessionChange }, SessionTenant>("PATCH", "/v1/sessions/current");

/** Renames a storage (200), or enlarges it (202). */
export const updateStorage = /* @__PURE__ */ operation<{ path: { id: StorageId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: StorageChange }, Storage>("PATCH", "/v1/storages/{id}");

/** Changes the price or the largest size of a specification, or retires or reactivates it. Administrators only. */
export const updateStorageSpec = /* @__PURE__ */ operation<{ path: { id: StorageSpecId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: StorageSpecChange }, StorageSpec>("PATCH", "/v1/storage-specs/{id}");

/** Renames, suspends or reactivates a tenant. For administrators; owners rename it. */
export const updateTenant = /* @__PURE__ */ operation<{ path: { id: TenantId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: TenantChange }, Tenant>("PATCH", "/v1/tenants/{id}");

/** Changes a user. API keys cannot change users. */
export const updateUser = /* @__PURE__ */ operation<{ path: { id: UserId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: UserChange }, User>("PATCH", "/v1/users/{id}");

/**
 * Changes the URL or the types of a webhook, disables it, or enables it again. Whoever changes the URL or enables it
 * becomes its maker.
 */
export const updateWebhook = /* @__PURE__ */ operation<{ path: { id: WebhookId }; headers?: { "If-Match"?: string; "Idempotency-Key"?: string }; body: WebhookChange }, Webhook>("PATCH", "/v1/webhooks/{id}");

/** Withdraws an open invitation. For owners and administrators. API keys cannot withdraw invitations of owners. */
export const withdrawInvitation = /* @__PURE__ */ operation<{ path: { id: TenantId; invitation_id: InvitationId }; headers?: { "Idempotency-Key"?: string } }, void>("DELETE", "/v1/tenants/{id}/invitations/{invitation_id}");

// Without a constant:
// - GET /v1/instances/{id}/terminal: Opens a terminal (WebSocket), or connects again to one.
