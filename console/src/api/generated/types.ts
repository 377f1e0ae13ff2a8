// Generated from the gateway's OpenAPI document by `cargo xtask console-client`: do not edit.

/** The next step to link an account. */
export interface AccountLink {
  /** URL of the provider to which to redirect the browser. */
  url: string;
}

/** An action of an administrator on an object of a tenant. */
export interface AdminAction {
  /** Number of the action; later ones have higher numbers. */
  id: number;
  /** Owner of the object. */
  tenant_id: TenantId;
  /** Id of the object. */
  target: string;
  /** What was done, for example `stop_instance`. */
  action: string;
  /** Why. */
  reason: string;
  /** The administrator. */
  user_id: UserId;
  /** Time of the action. */
  at: Timestamp;
}

/** How the cluster allocates GPUs to a unit. */
export type Allocation =
  | /** Whole GPUs from a device plugin. */ {
    /** Name of the extended resource, for example `nvidia.com/gpu`. */
    resource: string;
    kind: "device";
  }
  | /** Slices of a MIG profile. */ {
    /** Name of the extended resource, for example `nvidia.com/mig-1g.10gb`. */
    resource: string;
    kind: "mig";
  }
  | /** Time-sliced GPUs. */ {
    /** Name of the extended resource, for example `nvidia.com/gpu.shared`. */
    resource: string;
    kind: "time_slice";
  }
  | /** Shares of GPUs from HAMi. */ {
    /** Memory per GPU in MiB. */
    memory_mib: number;
    /** Share of each GPU's cores in percent, 0 to 100. */
    cores: number;
    kind: "hami";
  }
  | /** Devices of a class from dynamic resource allocation. */ {
    /** Name of the `DeviceClass`. */
    device_class: string;
    /** CEL expressions that each device must satisfy, at most 8. */
    selectors?: string[];
    kind: "dra";
  };

/** Spending limit of the tenant is not known. */
export type AllowanceExpiredProblem = Problem & {
    type?: "https://atelier.dev/problems/allowance-expired";
    /** Time until which the limit was known. */
    expired_at?: string;
  };

/** Units that could be claimed instead. */
export interface Alternative {
  /** Specification of the units. */
  gpu_spec: GpuSpecRef;
  /** Datacenter of the units. */
  datacenter: DatacenterRef;
  /** Free units. */
  available: number;
  /** Price per hour, a decimal number. */
  price_per_hour: string;
  /** ISO 4217 code of the currency. */
  currency: string;
}

/** An API key. */
export interface ApiKey {
  /** Id of the key. */
  id: ApiKeyId;
  /** Name of the key. */
  name: string;
  /** The user for whom the key acts. */
  user_id: UserId;
  tenant_id: TenantId | null;
  created_by_key: ApiKeyId | null;
  /** What the key may be used for. */
  scopes: Scope[];
  /**
   * Maximum number of requests per second, in addition to the limits of the user and of the API keys that created
   * this one; null for no such limit.
   */
  requests_per_second: number | null;
  /** The first characters of the key. */
  hint: string;
  /** The key, to be sent as `Authorization: Bearer …`. Only in the first response to the creation; null otherwise. */
  secret: string | null;
  /** When the key was created. */
  created_at: Timestamp;
  /** When the key expires, or null. */
  expires_at: Timestamp | null;
  /** When the key was last used, to the minute, or null. */
  last_used_at: Timestamp | null;
  /** Address of the client that last used the key, or null. */
  last_used_from: string | null;
}

/** API key id. */
export type ApiKeyId = string & { readonly __id: "ApiKeyId" };

/** A result of a job. */
export interface Artifact {
  /** Artifact id. */
  id: ArtifactId;
  /** Name, unique in the job. */
  name: string;
  /** Media type. */
  content_type: string;
  /** SHA-256 of the content as the worker computed it, in hexadecimal. */
  sha256: string;
  /** Size in bytes. */
  bytes: number;
  /** Time of creation. */
  created_at: Timestamp;
}

/** Artifact id: an output of a job. */
export type ArtifactId = string & { readonly __id: "ArtifactId" };

/** How an instance uses a storage. */
export type AttachmentMode = "read_write" | "read_only";

/** An instance that uses a storage. */
export interface AttachmentRef {
  /** Instance id. */
  instance_id: InstanceId;
  /** How the instance uses the storage. */
  mode: AttachmentMode;
  /** Time of the attachment. */
  since: Timestamp;
}

/** State of an attempt. */
export type AttemptState = "open" | "succeeded" | "failed" | "lost" | "preempted" | "cancelled";

/** A write by a user, or by a service on its own. */
export interface AuditEntry {
  /** Position in the log: 1, 2, 3 and so on, without gaps. */
  number: number;
  /** Time. */
  at: Timestamp;
  user_id: UserId | null;
  session_id: SessionId | null;
  api_key_id: ApiKeyId | null;
  /** Whether it was done as a platform administrator. */
  is_admin: boolean;
  /**
   * The service that sent the request, for the user or on its own; null if the gateway forwarded it. `atelier-admin`
   * for the program of the platform's operators.
   */
  service: string | null;
  /** Method and path template, or a program and its command. */
  operation: string;
  /** Path of the request. */
  path: string;
  /** URL of what was created. */
  created: string | null;
  /** Names of the fields that were sent. */
  fields: string[];
  /** Status of the response. */
  status: number;
  /** Id of the request. */
  request_id: string | null;
  /** Address of the client. */
  address: string | null;
  /** User agent of the client; of a program, who ran it. */
  user_agent: string | null;
  /** SHA-256 of the hash of the entry before, followed by this entry; in hexadecimal. */
  hash: string;
}

/** The result of verifying the audit log. */
export interface AuditVerification {
  /** Chains: one per tenant with entries, and one for the platform. */
  chains: number;
  /** Entries. */
  entries: number;
  /** Entries that were changed, inserted or deleted, at most 100. */
  broken: BrokenEntry[];
}

/** A checkpoint or base model that workers of a pool have. */
export interface BaseModel {
  /** The name by which jobs ask for it. */
  name: string;
  /** What it is for. */
  kind: BaseModelKind;
  /** The pool. */
  pool_id: PoolId;
  /** Name of the pool. */
  pool: string;
  /** Number of workers of the pool that have it now. With 0, new workers are expected to have it. */
  workers: number;
}

/** Kind of a base model. */
export type BaseModelKind = "checkpoint" | "base_model";

/** An entry that does not fit its chain. */
export interface BrokenEntry {
  tenant_id: TenantId | null;
  /** Position in the log. */
  number: number;
}

/** How S3 clients reach a bucket (path style). Create access keys with POST /v1/storages/{id}/credentials. */
export interface BucketAddress {
  /** Name of the bucket. */
  name: string;
  /** Base URL, `http(s)://host:port`. */
  endpoint: string;
  /** Region for request signatures. */
  region: string;
}

/** An access key, without its secret. */
export interface BucketCredential {
  /** Access key id. */
  access_key_id: string;
  /** Current state. */
  state: BucketCredentialState;
  created_by: UserId | null;
  created_by_key: ApiKeyId | null;
  /** Time of creation. */
  created_at: Timestamp;
}

/** State of a credential. */
export type BucketCredentialState = "making" | "active" | "removing";

/** What a tenant may spend in the calendar month (UTC), and what it has spent. */
export interface Budget {
  /** The budget. */
  terms: BudgetTerms;
  /** When the month began. */
  from: Timestamp;
  /** When the next month begins. */
  renews_at: Timestamp;
  /** What was spent since then, until now. */
  spent: string;
  /** The part for running instances. */
  spent_running: string;
  /** The part for holds. */
  spent_held: string;
  /** What is spent per hour now. */
  rate_per_hour: string;
  /** When the whole amount will be spent at this rate; null if not in this month. */
  runs_out_at: Timestamp | null;
  /** The steps, ascending, with the whole amount. */
  steps: BudgetStep[];
  /** Whether instances are stopped, and none can be started. */
  starts_refused: boolean;
  /** Latest end of this, or null. */
  refused_until: Timestamp | null;
  /** Maximum cost per hour of all instances together, including one to be started; null without a limit. */
  max_rate_per_hour: string | null;
  /**
   * Maximum that may be spent beyond the amount at the current rate, until the stop is ordered and everything has
   * stopped. Null if nothing is stopped.
   */
  worst_overspend: string | null;
}

/** What happens when the whole amount is spent. */
export type BudgetAction = "stop" | "notify";

/** Budget of the tenant exhausted. */
export type BudgetExhaustedProblem = Problem & {
    type?: "https://atelier.dev/problems/budget-exhausted";
    /** When the next month begins and starts are possible again, or null if that is not known. */
    renews_at?: string;
    /** Maximum cost per hour of all instances of the tenant with the rest of the budget. */
    limit?: string;
    /** Cost per hour of the running instances. */
    used?: string;
    /** The part that the request adds. */
    requested?: string;
    /** Currency (ISO 4217). */
    currency?: string;
  };

/** The step that was reached. */
export interface BudgetReached {
  /** First day of the month in UTC (`2026-01-01`). */
  month: string;
  /** The step, in percent of the amount. */
  percent: number;
  /** The amount of the budget. */
  amount: string;
  /** What was spent in the month. */
  spent: string;
  /** ISO 4217. */
  currency: string;
}

/** The end of a stop. */
export interface BudgetResumed {
  /** Why. */
  cause: ResumeCause;
}

/** A step of a budget. */
export interface BudgetStep {
  /** Part of the amount in percent. */
  percent: number;
  /** That part. */
  amount: string;
  /** When it was reached in this month, or null. */
  reached_at: Timestamp | null;
  /** When it will be reached at the current rate; null if it was reached, or will not be in this month. */
  expected_at: Timestamp | null;
}

/** The stop. */
export interface BudgetStopped {
  /** The amount of the budget. */
  amount: string;
  /** What was spent in the month. */
  spent: string;
  /** ISO 4217. */
  currency: string;
  /** When the next month begins. */
  renews_at: Timestamp;
}

/** The announced stop. */
export interface BudgetStopping {
  /** The amount of the budget. */
  amount: string;
  /** What was spent in the month. */
  spent: string;
  /** ISO 4217. */
  currency: string;
  /** When instances will be stopped at the current rate. */
  stops_at: Timestamp;
}

/** What a tenant may spend in a calendar month (UTC). */
export interface BudgetTerms {
  /** The amount. Prices in other currencies do not count. */
  amount: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** Parts of the amount, in percent. An event is sent when each of them, and always when the whole amount, is spent. */
  warn_percents?: number[];
  /** What happens when the whole amount is spent; `stop` if absent. */
  at_limit?: BudgetAction;
}

/** A step of the period. */
export interface CapacityPoint {
  /** When the step begins. The last one may not be over. */
  at: Timestamp;
  units: CapacityUnits | null;
}

/** Length of the steps of a period. */
export type CapacityStep = "hour" | "day";

/** Units in a step of time. Averages have two decimals. */
export interface CapacityUnits {
  /** Units that could be claimed, on average. */
  available: number;
  /** Units that could not be claimed, on average. */
  inactive: number;
  /** Units that instances had claimed and kept, on average. */
  used: number;
  /** Sum of the three. */
  total: number;
  /**
   * Lowest number of units that could be claimed at a time. For several specifications or datacenters, the sum of
   * their lowest numbers.
   */
  least_available: number;
}

/** Why the interval of a closed run was changed. */
export type Correction = "late_evidence" | "cluster_history" | "missed_run" | "unproven_run";

/** Limit of the cost per hour exceeded. */
export type CostLimitExceededProblem = Problem & {
    type?: "https://atelier.dev/problems/cost-limit-exceeded";
    /** Maximum cost per hour of all instances of the tenant. */
    limit?: string;
    /** Cost per hour of the running instances. */
    used?: string;
    /** The part that the request adds. */
    requested?: string;
    /** Currency (ISO 4217). */
    currency?: string;
  };

/** What a job would cost on one GPU specification. */
export interface CostRange {
  /** Name of the GPU specification. */
  gpu_spec: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** Half of such jobs cost at most this. */
  p50: string;
  /** Nine of ten such jobs cost at most this. */
  p90: string;
}

/** One page of a list, with the number of all items. */
export interface CountedPageInstance {
  /** Items in the order of the list. */
  items: Instance[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
  total: ListTotal | null;
}

/** One page of a list, with the number of all items. */
export interface CountedPageJob {
  /** Items in the order of the list. */
  items: Job[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
  total: ListTotal | null;
}

/** One page of a list, with the number of all items. */
export interface CountedPagePlatformInstance {
  /** Items in the order of the list. */
  items: (Instance & {
      /** Owner of the instance. */
      tenant_id: TenantId;
    })[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
  total: ListTotal | null;
}

/** One page of a list, with the number of all items. */
export interface CountedPagePlatformStorage {
  /** Items in the order of the list. */
  items: (Storage & {
      /** Owner of the storage. */
      tenant_id: TenantId;
    })[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
  total: ListTotal | null;
}

/** One page of a list, with the number of all items. */
export interface CountedPageStorage {
  /** Items in the order of the list. */
  items: Storage[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
  total: ListTotal | null;
}

/** A new upload. */
export type CreatedUpload = Upload & {
    /**
     * Where the content goes, within 15 minutes: a PUT with the `Content-Type` and the size of the request, without a token.
     * Sent once: null in the response to a replayed request; then create another upload.
     */
    put_url: string | null;
  };

/** A worker that was created, with its token. */
export type CreatedWorker = Worker & {
    /** The token of its process. Sent once: null in the response to a replayed request. */
    token: string | null;
  };

/** E-mail address and password. */
export interface Credentials {
  /** E-mail address of the user. */
  email: string;
  /** The user's password. */
  password: string;
  tenant_id?: TenantId | null;
  /** A code of the authenticator app, or a recovery code, if the user has a second factor. */
  totp?: string | null;
  /**
   * Instead of `totp`: the answer of a passkey of the user to a challenge of `create_passkey_challenge`, in the
   * format of `PublicKeyCredential.toJSON()`.
   */
  passkey?: Record<string, unknown> | null;
  /**
   * For browsers: the response sets a cookie instead of returning tokens. Requests with the cookie that change
   * something must come from a page of the platform itself.
   */
  cookie?: boolean;
}

/** A datacenter: a named site with one cluster. */
export interface Datacenter {
  /** Datacenter id. */
  id: DatacenterId;
  /** Unique name. */
  name: string;
  /** Region, for example a country. */
  region: string;
  /** Its cluster, by name in the configuration of the service. */
  cluster: string;
  /** Labels for administrators. */
  labels: Record<string, string>;
  /** Whether units can be claimed and stock can be added. */
  state: DatacenterState;
  /** Time of creation. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
}

/** Datacenter id. */
export type DatacenterId = string & { readonly __id: "DatacenterId" };

/** Whether the units of a datacenter run code of tenants. */
export interface DatacenterIsolation {
  /** Name of the datacenter, as its units have it. */
  datacenter: string;
  /** Units that run code of tenants. */
  running: number;
  /** Units that do not run code of tenants. */
  refusing: number;
  /** What the units report: each report once, the most frequent first. */
  reports: IsolationReport[];
}

/** Changes of a datacenter; absent fields stay unchanged. */
export interface DatacenterPatch {
  /** New name; only while the datacenter has no units. */
  name?: string | null;
  /** New region. */
  region?: string | null;
  /** New cluster; only while the datacenter has no units. */
  cluster?: string | null;
  /** New labels; they replace all previous ones. */
  labels?: Record<string, string> | null;
  state?: DatacenterState | null;
}

/** Id and name of a datacenter. */
export interface DatacenterRef {
  /** Datacenter id. */
  id: DatacenterId;
  /** Name. */
  name: string;
}

/** Whether a datacenter is in use. */
export type DatacenterState = "active" | "draining";

/** A message that was refused. */
export interface DeadMessage {
  /** Id of the refused message. */
  id: DeadMessageId;
  /** Why it was refused. */
  code: RefusalCode;
  /** Why it was refused, for a person. */
  detail: string;
  /** Its request number, or null. */
  req_no: string | null;
  /** The credential with which it was published, as its `user_id` says. */
  credential: string | null;
  /** Its headers. */
  headers: Record<string, unknown>;
  /** The first 64 KiB of its body; bytes that are not UTF-8 are replaced. */
  body: string;
  /** Size of the body in bytes. */
  bytes: number;
  /** When it was refused. */
  created_at: Timestamp;
  /** When it was last replayed, or null. */
  replayed_at: Timestamp | null;
}

/** Id of a message that was refused. */
export type DeadMessageId = string & { readonly __id: "DeadMessageId" };

/** One attempt of a delivery. */
export interface DeliveryAttempt {
  /** When it began. */
  at: Timestamp;
  /** HTTP status of the answer, or null. */
  status: number | null;
  error: DeliveryError | null;
  /** Seconds for which the endpoint asked to wait (`Retry-After`), or null. */
  retry_after_seconds: number | null;
  /** How long it took. */
  milliseconds: number;
}

/** Why an attempt failed. */
export type DeliveryError = "refused" | "timed_out" | "no_connection" | "address_not_allowed";

/** Delivery id: a message to a webhook. */
export type DeliveryId = string & { readonly __id: "DeliveryId" };

/** State of a delivery. */
export type DeliveryState = "pending" | "delivered" | "failed" | "cancelled";

/** Something that a process calls. */
export interface Dependency {
  /** Its name: `postgres`, `stock`, `cluster:<name>`. */
  name: string;
  /** What it is. */
  kind: DependencyKind;
  /** Whether it answers now. */
  state: DependencyState;
  /** How long the answer took in milliseconds; null without one. */
  latency_ms: number | null;
  last_error: LastError | null;
}

/** What a dependency is. */
export type DependencyKind = "postgres" | "service" | "cluster" | "object_store" | "cache";

/** Whether a dependency answers. */
export type DependencyState = "ok" | "failed";

/** A deployment of a model to a volume. */
export interface Deployment {
  /** Deployment id. */
  id: DeploymentId;
  /** The model. */
  model_id: ModelId;
  /** The volume. */
  storage_id: StorageId;
  /** Path of the file below the root of the volume. */
  path: string;
  /** State. */
  state: DeploymentState;
  reason: DeploymentReason | null;
  /** The reason in words. */
  message: string | null;
  /** Time of creation. */
  created_at: Timestamp;
  /** When it was deployed or failed. */
  finished_at: Timestamp | null;
}

/** Deployment id: a model deployed to a volume. */
export type DeploymentId = string & { readonly __id: "DeploymentId" };

/** Why a deployment is pending or failed. New codes may be added. */
export type DeploymentReason =
  | "volume_unavailable"
  | "queued"
  | "tenant_suspended"
  | "preparing"
  | "downloading"
  | "retrying"
  | "volume_gone"
  | "model_gone"
  | "content_mismatch"
  | "volume_full"
  | "path_not_writable"
  | "download_failed";

/** State of a deployment. */
export type DeploymentState = "pending" | "deployed" | "failed" | "deleting";

/** An OpenID Connect discovery document. */
export interface Discovery {
  /** `iss` of the tokens. */
  issuer: string;
  /** URL of the public keys. */
  jwks_uri: string;
  /** URL to create sessions (JSON bodies, see `create_session`). */
  token_endpoint: string;
  /** Empty: there is no browser redirect flow. */
  response_types_supported: string[];
  /** Subject types: the same subject for every client. */
  subject_types_supported: string[];
  /** Algorithms of token signatures. */
  id_token_signing_alg_values_supported: string[];
}

/** Limits of what a tenant may have at the same time. */
export interface EffectiveStorageLimits {
  /** Storages. */
  storages: number;
  /** Sum of the sizes of all storages, in GiB. */
  gib: number;
}

/** Why a run ended. */
export type EndReason =
  | "stopped"
  | "restarted"
  | "container_exited"
  | "probe_failed"
  | "node_lost"
  | "pod_deleted"
  | "unseen"
  | "unknown";

/** An environment variable. */
export interface EnvVar {
  /** Name: letters, digits and `_`, not starting with a digit. */
  name: string;
  /** Value, used literally. At most 32 KiB. */
  value?: string;
}

/** When a unit is expected, if units are released as often as recently. */
export interface Estimate {
  /** Expected time. */
  starts_at: Timestamp;
  /** Releases of units of the specification (in the required datacenter) on which the estimate is based. */
  releases: number;
  /** Seconds in which these releases happened, until now. */
  period_seconds: number;
}

/** What happened to an instance, or to the budget of a tenant. */
export type Event = EventDetail & {
    /** Event id. */
    id: EventId;
    /** Position in the tenant's log: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event. */
    sequence: number;
    /**
     * When it was recorded. It does not decrease from one event of the tenant to the next, unless the clock of the
     * database is set back.
     */
    time: Timestamp;
    /** Owner of the instance. */
    tenant_id: TenantId;
    instance_id: InstanceId | null;
    /** Who caused it. */
    actor: EventActor;
    reason: ReasonCode | null;
    /** The reason in a sentence for a person, or null. */
    message: string | null;
  };

/** Who caused an event. */
export type EventActor =
  | /** A user of the tenant. */ {
    /** The user. */
    user_id: UserId;
    kind: "user";
  }
  | /** An administrator of the platform. */ {
    kind: "administrator";
  }
  | /** Another service of the platform. */ {
    /** Name of the service. */
    name: string;
    kind: "service";
  }
  | /** This service: it carries out what was requested, and observes the cluster. */ {
    kind: "system";
  };

/** The type of an event with its data. */
export type EventDetail =
  | /** The instance was ordered. */ {
    /** The instance was ordered. */
    data: InstanceCreated;
    type: "instance.created";
  }
  | /** The name or the order was changed. */ {
    /** The name or the order was changed. */
    data: InstanceUpdated;
    type: "instance.updated";
  }
  | /** A start was requested. */ {
    /** A start was requested. */
    data: InstanceRequested;
    type: "instance.start_requested";
  }
  | /** A stop was requested: by a user, an administrator, or because the tenant is suspended. */ {
    /** A stop was requested: by a user, an administrator, or because the tenant is suspended. */
    data: InstanceStopRequested;
    type: "instance.stop_requested";
  }
  | /** A restart was requested. */ {
    /** A restart was requested. */
    data: InstanceRequested;
    type: "instance.restart_requested";
  }
  | /** The deletion was requested. */ {
    /** The deletion was requested. */
    data: InstanceRequested;
    type: "instance.deletion_requested";
  }
  | /** A storage is attached for this start. */ {
    /** A storage is attached for this start. */
    data: InstanceStorageChanged;
    type: "instance.storage_attached";
  }
  | /** A storage is detached: it was removed from the stopped instance, or the instance is deleted. */ {
    /** A storage is detached: it was removed from the stopped instance, or the instance is deleted. */
    data: InstanceStorageChanged;
    type: "instance.storage_detached";
  }
  | /** The instance has claimed a unit, at this price. */ {
    /** The instance has claimed a unit, at this price. */
    data: InstanceUnitClaimed;
    type: "instance.unit_claimed";
  }
  | /** The instance is ready, and a run has begun: after a start, a restart, or a restart of its container. */ {
    /** The instance is ready, and a run has begun: after a start, a restart, or a restart of its container. */
    data: InstanceStarted;
    type: "instance.started";
  }
  | /** The instance was ready and is not: its container exited, its probe fails, or it was removed from its unit. */ {
    /** The instance was ready and is not: its container exited, its probe fails, or it was removed from its unit. */
    data: InstanceInterrupted;
    type: "instance.interrupted";
  }
  | /** Another instance has claimed the unit of the interruptible instance, which is stopped soon. */ {
    /** Another instance has claimed the unit of the interruptible instance, which is stopped soon. */
    data: InstanceRecalled;
    type: "instance.recalled";
  }
  | /** The instance is ready again, in the same run. */ {
    /** The instance is ready again, in the same run. */
    data: InstanceStarted;
    type: "instance.recovered";
  }
  | /** A run has ended. */ {
    /** A run has ended. */
    data: InstanceRunEnded;
    type: "instance.run_ended";
  }
  | /** The start failed: the instance has not been ready since the request. */ {
    /** The start failed: the instance has not been ready since the request. */
    data: InstanceFailed;
    type: "instance.start_failed";
  }
  | /** The instance failed after it had been ready. */ {
    /** The instance failed after it had been ready. */
    data: InstanceFailed;
    type: "instance.failed";
  }
  | /** The instance has stopped, and its unit is released. */ {
    /** The instance has stopped, and its unit is released. */
    data: InstanceStopped;
    type: "instance.stopped";
  }
  | /** The instance has stopped and keeps its unit for a part of the price. */ {
    /** The instance has stopped and keeps its unit for a part of the price. */
    data: InstanceHoldStarted;
    type: "instance.hold_started";
  }
  | /** The hold ended. */ {
    /** The hold ended. */
    data: InstanceHoldEnded;
    type: "instance.hold_ended";
  }
  | /** The instance is idle and will be stopped. */ {
    /** The instance is idle and will be stopped. */
    data: InstanceIdleStopAnnounced;
    type: "instance.idle_stop_announced";
  }
  | /** The instance will not be stopped as announced. */ {
    /** The instance will not be stopped as announced. */
    data: InstanceIdleStopWithdrawn;
    type: "instance.idle_stop_withdrawn";
  }
  | /** The instance is deleted. */ {
    /** The instance is deleted. */
    data: InstanceDeleted;
    type: "instance.deleted";
  }
  | /** A user opened a terminal. */ {
    /** A user opened a terminal. */
    data: InstanceTerminalOpened;
    type: "instance.terminal_opened";
  }
  | /** The terminal has ended. */ {
    /** The terminal has ended. */
    data: InstanceTerminalClosed;
    type: "instance.terminal_closed";
  }
  | /** A step of the tenant's budget was reached. */ {
    /** A step of the tenant's budget was reached. */
    data: BudgetReached;
    type: "budget.reached";
  }
  | /** The budget will be exhausted soon, and instances stopped. */ {
    /** The budget will be exhausted soon, and instances stopped. */
    data: BudgetStopping;
    type: "budget.stopping";
  }
  | /** The budget is exhausted: instances are stopped, and none can be started. */ {
    /** The budget is exhausted: instances are stopped, and none can be started. */
    data: BudgetStopped;
    type: "budget.stopped";
  }
  | /** Instances can be started again. */ {
    /** Instances can be started again. */
    data: BudgetResumed;
    type: "budget.resumed";
  };

/** Event id: something that happened to an instance. */
export type EventId = string & { readonly __id: "EventId" };

/** Position is not in the log. */
export type EventsDeletedProblem = Problem & {
    type?: "https://atelier.dev/problems/events-deleted";
    /** The oldest `sequence` after which the log is complete. */
    oldest?: number;
    /** `sequence` of the newest event. */
    newest?: number;
  };

/** Jobs that start and end within the next hour. */
export interface ExpectedJobs {
  /** Name of the GPU specification. */
  gpu_spec: string;
  level: JobLevel;
  /** How many start. */
  starts: number;
  /** How many end. */
  ends: number;
}

/** When a job is expected to start and to end. */
export interface ExpectedTimes {
  start: TimeRange | null;
  end: TimeRange | null;
}

/** One field of a request that was not accepted. */
export interface FieldError {
  /** JSON pointer into the body (`/gpu_count`), or the name of a query parameter or header. */
  pointer: string;
  /** What is wrong with the field. */
  detail: string;
}

/** A line of a log. */
export interface GatewayLogLine {
  /** When it was logged. */
  time: Timestamp;
  /** How important it is. */
  level: LogLevel;
  /** What happened. */
  message: string;
  /** The part of the program. */
  target: string;
  /** The request that it belongs to, if it belongs to one. */
  request_id: string | null;
  /** What else is known, by name. */
  fields: Record<string, unknown>;
}

/** A background worker. */
export interface GatewayWorker {
  /** Its name. */
  name: string;
  /** Whether it runs. */
  state: GatewayWorkerState;
  /** For a periodic worker: seconds by which its next success is late. 0 for others. */
  lag_seconds: number;
  /** Failures and failed rounds since the process started. */
  failures: number;
  last_error: LastError | null;
}

/** Whether a background worker runs. */
export type GatewayWorkerState = "running" | "failing";

/** A GPU specification: the resources of one unit and its price per hour. */
export interface GpuSpec {
  /** Specification id. */
  id: GpuSpecId;
  /** Unique name. */
  name: string;
  /** GPU model. */
  gpu_model: string;
  /** Number of GPUs. */
  gpu_count: number;
  /** Cores of each GPU. */
  gpu_cores: number;
  /** Video memory of each GPU in MiB. */
  video_memory_mib: number;
  /** CPU in thousandths of a core. */
  cpu_millis: number;
  /** Memory in MiB. */
  memory_mib: number;
  /** Ephemeral disk in GiB. */
  disk_gib: number;
  /** Price per hour, a decimal number. */
  price_per_hour: string;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Part of the price, 0 to 1, for which a stopped instance may keep its unit; null if it may not. */
  hold_price_fraction: string | null;
  /** How the cluster allocates the GPUs. */
  allocation: Allocation;
  /** Labels that the node of a unit must have. */
  node_selector: Record<string, string>;
  /** Whether the specification is for sale. */
  state: GpuSpecState;
  /** Summary in one line. */
  summary: string;
  /** Time of creation. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
}

/** GPU specification id. */
export type GpuSpecId = string & { readonly __id: "GpuSpecId" };

/**
 * Changes of a specification; absent fields stay unchanged. While the specification has units, only price,
 * currency, price of holds and state can change.
 */
export interface GpuSpecPatch {
  /** New name. */
  name?: string | null;
  /** New GPU model. */
  gpu_model?: string | null;
  /** New number of GPUs. */
  gpu_count?: number | null;
  /** New number of cores of each GPU. */
  gpu_cores?: number | null;
  /** New video memory of each GPU in MiB. */
  video_memory_mib?: number | null;
  /** New CPU in thousandths of a core. */
  cpu_millis?: number | null;
  /** New memory in MiB. */
  memory_mib?: number | null;
  /** New ephemeral disk in GiB. */
  disk_gib?: number | null;
  /** New price per hour, effective at once. The previous price stays in the history. */
  price_per_hour?: string | null;
  /** New ISO 4217 code of the currency. */
  currency?: string | null;
  /** New part of the price for which a stopped instance may keep its unit; null to end the offer. */
  hold_price_fraction?: string | null;
  allocation?: Allocation | null;
  /** New node labels; they replace all previous ones. */
  node_selector?: Record<string, string> | null;
  state?: GpuSpecState | null;
}

/** Id and name of a GPU specification. */
export interface GpuSpecRef {
  /** GPU specification id. */
  id: GpuSpecId;
  /** Name. */
  name: string;
}

/** Whether a specification is for sale. */
export type GpuSpecState = "active" | "retired";

/** How a module or one of its replicas is. */
export type HealthState = "ok" | "shutting_down" | "degraded" | "unavailable" | "unreachable";

/** Why a hold ended. */
export type HoldEnd =
  | "instance_started"
  | "given_up"
  | "expired"
  | "unit_lost"
  | "instance_deleted"
  | "administrator"
  | "tenant_suspended"
  | "budget_exhausted"
  | "unseen";

/** How long a stopped instance keeps its unit. Exactly one of both fields is required. */
export interface HoldRequest {
  /** Seconds from now, up to the configured maximum (a week by default). */
  for_seconds?: number | null;
  /** A time. */
  until?: Timestamp | null;
}

/** The instance that holds a unit. */
export interface Holder {
  /** Instance id. */
  instance_id: InstanceId;
  /** Tenant of the instance. */
  tenant_id: TenantId;
  /** Time of the claim. */
  since: Timestamp;
}

/** When an instance is stopped because it is idle. */
export interface IdleStopSettings {
  /** Seconds for which the instance has to be idle, 900 (unless configured otherwise) to 604,800. */
  after_seconds: number;
  /**
   * The GPUs are idle while each of them is used less than this, in percent. In clusters without Prometheus the
   * use of GPUs is not measured, and the CPU alone decides.
   */
  gpu_below_percent?: number;
  /** The CPU is idle while less than this is used, in percent of the cores of the unit. */
  cpu_below_percent?: number;
}

/** Why an announced stop was withdrawn. */
export type IdleStopWithdrawal = "used" | "connected" | "unknown" | "postponed" | "settings_changed" | "not_running";

/** Service image id: one version of a service in the catalogue. */
export type ImageId = string & { readonly __id: "ImageId" };

/** Input does not exist. */
export type InputMissingProblem = Problem & {
    type?: "https://atelier.dev/problems/input-missing";
    /** Ids of the uploads and models that do not exist or are empty. */
    inputs?: unknown[];
  };

/** A tenant's machine. */
export interface Instance {
  /** Instance id. */
  id: InstanceId;
  /** Name for people. */
  name: string;
  /**
   * The service of the platform that manages the instance, such as `jobs`: its users cannot change, start, stop or
   * delete it. Null if they do.
   */
  managed_by: string | null;
  /** Current state. */
  state: InstanceState;
  reason: ReasonCode | null;
  /** The reason in a sentence for a person, or null. */
  message: string | null;
  queue: QueueView | null;
  /**
   * What could be started instead: now, while it waits; at the time of the start, if the start found no free unit.
   * Otherwise null.
   */
  alternatives: Alternative[] | null;
  hold: InstanceHold | null;
  /** Last lines of the log after a failed start, or null. */
  log_tail: string | null;
  /** GPU specification. */
  gpu_spec: GpuSpecRef;
  /** Service of the catalogue; null if it runs an image of the tenant's own. */
  service: string | null;
  /** Version of the service; null if it runs an image of the tenant's own. */
  version: string | null;
  image: InstanceImage | null;
  storage_id: StorageId | null;
  /** What happens when its node is lost. */
  on_node_loss: OnNodeLoss;
  idle_stop: InstanceIdleStop | null;
  /** All storages with their mount paths. */
  storages: InstanceStorage[];
  /** Its secrets by name, without values. */
  secrets: InstanceSecret[];
  /** URL of the instance. Stays the same as long as the instance exists. */
  url: string;
  /** What people open at the URL, for example `WebUI`, or null. */
  url_title: string | null;
  /** Its ports with host names of their own. */
  ports: InstancePort[];
  /** Node of the instance; null if it has no unit. */
  node: string | null;
  /** Name of the datacenter of the current or last unit, or null. */
  datacenter: string | null;
  /** Id of the newest operation on the instance. */
  operation_id: OperationId;
  /** Price per hour of the unit, or of the specification at the time of the order. */
  price_per_hour: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** Time of the order. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
  /** Time at which it became ready; null unless it is running. */
  started_at: Timestamp | null;
}

/**
 * A change of an instance. Absent fields stay as they are. All but the name, `on_node_loss` and
 * `idle_stop` can be changed only while the instance is stopped.
 */
export interface InstanceChange {
  /** New name, 1 to 63 characters. */
  name?: string | null;
  /** New GPU specification, by id or name. The price follows. Not while the instance holds a unit. */
  gpu_spec?: string | null;
  /** New version of the service. */
  version?: string | null;
  image?: InstanceImage | null;
  /** New environment variables, which replace all previous ones. */
  env?: EnvVar[] | null;
  /** New secrets, which replace all previous ones. A secret without a value keeps its current value. */
  secrets?: InstanceSecretRequest[] | null;
  /** New storages, which replace all previous ones. Removed ones are detached and keep their data. */
  storages?: InstanceStorageRequest[] | null;
  /** New public ports, which replace all previous ones. */
  public_ports?: NewPublicPort[] | null;
  on_node_loss?: OnNodeLoss | null;
  idle_stop?: IdleStopSettings | null;
}

/** The ordered instance. */
export interface InstanceCreated {
  /** Name of the instance. */
  name: string;
  /** GPU specification. */
  gpu_spec_id: GpuSpecId;
  /** Name of the GPU specification. */
  gpu_spec: string;
  /** Service. */
  service: string;
  /** Version of the service. */
  version: string;
  storage_id: StorageId | null;
  /** All storages to mount. */
  storage_ids: StorageId[];
  datacenter_id: DatacenterId | null;
  /** Price of an hour at the time of the order. */
  price_per_hour: string;
  /** ISO 4217. */
  currency: string;
  /** The operation that creates it and, unless it was created stopped, starts it. */
  operation_id: OperationId;
}

/** The deleted instance. */
export interface InstanceDeleted {
  /** The last name of the instance. */
  name: string;
}

/** The failed start. */
export interface InstanceFailed {
  /** Number of the start. */
  attempt: number;
}

/** A field of an instance that can be changed. */
export type InstanceField =
  | "name"
  | "gpu_spec"
  | "version"
  | "image"
  | "env"
  | "secrets"
  | "storages"
  | "on_node_loss"
  | "idle_stop"
  | "public_ports";

/** A unit that a stopped instance keeps. */
export interface InstanceHold {
  /** Time since which it is billed; null until the instance has stopped. */
  since: Timestamp | null;
  /** When it ends, unless it is given up before. */
  until: Timestamp;
  /** Price per hour of the hold. */
  price_per_hour: string;
  /** Currency (ISO 4217). */
  currency: string;
}

/** The hold that has ended. */
export interface InstanceHoldEnded {
  /** When it began; null if it was cancelled before. */
  started_at: Timestamp | null;
  /** When it ended; null if it did not begin. */
  ended_at: Timestamp | null;
  /** Why it ended. */
  cause: HoldEnd;
}

/** The unit that is kept. */
export interface InstanceHoldStarted {
  /** The unit. */
  unit_id: UnitId;
  /** Time since which it is billed as held. */
  started_at: Timestamp;
  /** When the hold ends, unless it is given up before. */
  until: Timestamp;
  /** Price of an hour of the hold. */
  price_per_hour: string;
  /** ISO 4217. */
  currency: string;
}

/** Instance id. */
export type InstanceId = string & { readonly __id: "InstanceId" };

/** The idle stop of an instance. */
export interface InstanceIdleStop {
  /** Seconds for which the instance has to be idle. */
  after_seconds: number;
  /** Use of a GPU, in percent, from which on the instance is not idle. */
  gpu_below_percent: number;
  /** Use of the CPU, in percent of the cores of the unit, from which on the instance is not idle. */
  cpu_below_percent: number;
  /** Since when it is idle, once the stop is announced; otherwise null. */
  idle_since: Timestamp | null;
  /** When it is stopped unless it is used or the stop is postponed, once that is announced; otherwise null. */
  stop_at: Timestamp | null;
}

/** The announced stop. No connection, terminal or SSH session is open. */
export interface InstanceIdleStopAnnounced {
  /** Since when the instance is idle. */
  idle_since: Timestamp;
  /** When it is stopped, unless it is used or the stop is postponed. */
  stop_at: Timestamp;
  /** The highest use of the CPU since then, in percent of the cores of the unit. */
  cpu_percent: number;
  /** The highest use of a GPU since then, in percent; null if it is not known. */
  gpu_percent: number | null;
}

/** The withdrawn stop. */
export interface InstanceIdleStopWithdrawn {
  /** When it would have been stopped. */
  stop_at: Timestamp;
  /** Why it was withdrawn. */
  cause: IdleStopWithdrawal;
}

/** An image of the tenant's own, and how it is run. The container runs as an ordinary user. */
export interface InstanceImage {
  /** Reference: `[registry/]name[:tag][@digest]`, with a tag or a digest. The cluster has to be able to pull it. */
  reference: string;
  registry_credential?: RegistryCredentialId | null;
  /** Ports, all TCP. At least one is public. */
  ports: InstanceImagePort[];
  /** Entry point. That of the image if empty. */
  command?: string[];
  /** Arguments. Those of the image if empty. */
  args?: string[];
  /** Working directory. That of the image if absent. */
  working_dir?: string | null;
  /** Mount path of storages without a `mount_path`. */
  storage_mount_path?: string | null;
}

/** A port of an image. */
export interface InstanceImagePort {
  /** Port number. */
  port: number;
  /**
   * What people open at this port, for example `ComfyUI`: 1 to 100 characters. Unless the order names `public_ports`, each port
   * with a title gets a host name.
   */
  title?: string | null;
  /** Whether the instance's URL leads to this port. */
  is_public?: boolean;
  /** Whether the readiness probe connects to this port. If no port has it, the probe connects to the public one. */
  is_probe?: boolean;
  /** Path of the readiness probe's GET request. If empty, the probe only connects. */
  base_url?: string;
}

/** The interrupted start. */
export interface InstanceInterrupted {
  /** Number of the start. */
  attempt: number;
}

/** The kept log of one start of an instance. */
export interface InstanceLog {
  /** Number of the start: the `attempt` of events and of `GET /v1/instances/{id}/log`. */
  attempt: number;
  /** Time of the first line that is kept. */
  first_line_at: Timestamp;
  /** Time of the last line that is kept. */
  last_line_at: Timestamp;
  /** Number of lines. */
  lines: number;
  /** Bytes of text. */
  text_bytes: number;
  /** Bytes in the object store, compressed. */
  stored_bytes: number;
  /** Whether lines may be missing because the cluster had deleted them before they were collected. */
  has_gaps: boolean;
}

/** Instance is managed by the platform. */
export type InstanceManagedProblem = Problem & {
    type?: "https://atelier.dev/problems/instance-managed";
    /** The service that manages the instance. */
    managed_by?: string;
  };

/** Metrics of an instance in a window of time. */
export interface InstanceMetrics {
  /** Beginning of the first step: the requested one, rounded down to a multiple of the step since 1970. */
  from: Timestamp;
  /** End of the last step. The last step may not be over. */
  to: Timestamp;
  /** Seconds of a step. */
  step: number;
  /**
   * One for each metric, GPU and source that has values. Value `i` belongs to the step that begins `i * step`
   * seconds after `from`.
   */
  series: MetricSeries[];
  /** Metrics without values from a source, with the reason. */
  missing: MissingMetric[];
  /** When the instance was ready in the window, newest first: values exist only within these intervals. */
  runs: MeasuredRun[];
}

/** Instance is not running. */
export type InstanceNotRunningProblem = Problem & {
    type?: "https://atelier.dev/problems/instance-not-running";
    /** Message of the cluster. */
    message?: string;
  };

/** A port of an instance with a host name of its own. */
export interface InstancePort {
  /** Port of the container. */
  port: number;
  /** What people open there, for example `Jupyter`, or null. */
  title: string | null;
  /** Its URL. Stays the same as long as the instance exists and has the port. */
  url: string;
  /** Whether only signed-in members of the tenant reach it, with a ticket. */
  sign_in: boolean;
}

/** The loss of a unit. */
export interface InstanceRecalled {
  /** Number of the start. */
  attempt: number;
  /** When the instance is stopped, unless it is deleted before. */
  leave_by: Timestamp;
}

/** The request. */
export interface InstanceRequested {
  /** The operation that carries it out. */
  operation_id: OperationId;
}

/** The run that has ended. */
export interface InstanceRunEnded {
  /** Number of the start that the run belongs to. */
  attempt: number;
  /** When the run began. */
  started_at: Timestamp;
  /** When it ended, as the cluster reports it; null if the end was not observed. */
  ended_at: Timestamp | null;
  /** Why it ended. */
  end_reason: EndReason;
}

/** A secret of an instance, without its value. */
export interface InstanceSecret {
  /** Name of the environment variable. */
  name: string;
  /** When its value was written. */
  updated_at: Timestamp;
}

/** A secret in a request. */
export interface InstanceSecretRequest {
  /** Name of the environment variable: letters, digits and `_`, not starting with a digit. Not that of one in `env`. */
  name: string;
  /** Value, at most 32 KiB. Never returned. In a change, a secret without a value keeps its current value. */
  value?: string | null;
}

/** The current run of the instance. */
export interface InstanceStarted {
  /** Number of the start; grows with each. */
  attempt: number;
  /** When the run began, as the cluster reports it. */
  started_at: Timestamp;
  /** Node, or null if it is not known. */
  node: string | null;
}

/** State of an instance. */
export type InstanceState = "pending" | "starting" | "running" | "stopping" | "stopped" | "deleting";

/** Instance state does not allow this. */
export type InstanceStateProblem = Problem & {
    type?: "https://atelier.dev/problems/instance-state";
    /** Current state of the instance. */
    state?: string;
  };

/** The request. */
export interface InstanceStopRequested {
  operation_id: OperationId | null;
}

/** Why the instance has stopped. */
export interface InstanceStopped {
  /** Who or what stopped it. */
  cause: StopCause;
}

/** A storage of an instance. */
export interface InstanceStorage {
  /** Storage id. */
  storage_id: StorageId;
  /** Path in the container. */
  mount_path: string;
  /** Whether the container may only read. */
  read_only: boolean;
}

/** Which storage. */
export interface InstanceStorageChanged {
  /** The storage. */
  storage_id: StorageId;
}

/** A storage in a request. */
export interface InstanceStorageRequest {
  /** Id of a volume of the tenant. */
  storage_id: StorageId;
  /** Absolute path in the container, without `.`, `..` or a slash at the end. That of the service if absent. */
  mount_path?: string | null;
  /** Whether the container may only read. */
  read_only?: boolean;
}

/** The terminal that has ended. */
export interface InstanceTerminalClosed {
  /** Session id. */
  session_id: TerminalId;
  /** When it was opened. */
  opened_at: Timestamp;
  /** Why it has ended. */
  end_reason: TerminalEnd;
}

/** The opened terminal. */
export interface InstanceTerminalOpened {
  /** Session id. */
  session_id: TerminalId;
  /** IP address of the client, or null if it is not known. */
  client_address: string | null;
}

/** The claimed unit. */
export interface InstanceUnitClaimed {
  /** The unit. */
  unit_id: UnitId;
  /** Datacenter of the unit. */
  datacenter_id: DatacenterId;
  /** Name of the datacenter. */
  datacenter: string;
  /** Price of an hour from this claim on. */
  price_per_hour: string;
  /** ISO 4217. */
  currency: string;
}

/** The change. */
export interface InstanceUpdated {
  /** Name of the instance. */
  name: string;
  /** The name before. */
  previous_name: string;
  /** The fields that were changed. */
  changed: InstanceField[];
  /** Name of the GPU specification. */
  gpu_spec: string;
  /** Version of the service. */
  version: string;
  /** Price of an hour. */
  price_per_hour: string | null;
  /** ISO 4217. */
  currency: string;
}

/** Scope missing. */
export type InsufficientScopeProblem = Problem & {
    type?: "https://atelier.dev/problems/insufficient-scope";
    /** The missing scope. */
    scope?: string;
  };

/** An open invitation, as the tenant's owners see it. */
export interface Invitation {
  /** Id of the invitation. */
  id: InvitationId;
  /** The invited e-mail address. It need not belong to a user yet. */
  email: string;
  /** Role of the person in the tenant, once they accept. */
  role: Role;
  /** Who invited them. */
  invited_by: UserId;
  /** When the invitation was created. */
  created_at: Timestamp;
  /** When the invitation expires. */
  expires_at: Timestamp;
}

/** Invitation id. */
export type InvitationId = string & { readonly __id: "InvitationId" };

/** What some units report. */
export interface IsolationReport {
  /**
   * Machine-readable reason. `Isolated` and `DefaultRuntimeAccepted`: the units run code of tenants.
   * `NoIsolatedRuntime`, `RuntimeClassMissing` and `NodeUnsuitable`: they do not. `Unknown`: their operator reports
   * nothing, or a reason that this version does not know.
   */
  reason: string;
  /** The reason in a sentence; for `Isolated`, the RuntimeClass. */
  message: string;
  /** How many units. */
  units: number;
}

/** No isolated runtime for code of tenants. */
export type IsolationUnavailableProblem = Problem & {
    type?: "https://atelier.dev/problems/isolation-unavailable";
    /** Names of datacenters in which code of tenants runs. */
    datacenters?: unknown[];
  };

/** A job: one request for work on GPUs. */
export interface Job {
  /** Job id. */
  id: JobId;
  /** Name of the application. */
  application: string;
  /** The method. */
  method: string;
  /** Kind of the job. */
  kind: JobKind;
  /** Level of the job. */
  level: JobLevel;
  /** Orders the jobs of a tenant, 9 first. */
  priority: number;
  /** The group of the job, or null. */
  group: string | null;
  group_mode: JobGroupMode | null;
  /** Current state. */
  state: JobState;
  reason: QueuedReason | null;
  /** The job does not start before this time, or null. */
  not_before: Timestamp | null;
  /** The job expires if it waits at that time, or null. */
  deadline: Timestamp | null;
  /** The client's number of the request, or null. */
  req_no: string | null;
  /** Number of attempts until now. */
  attempts: number;
  progress: JobProgress | null;
  problem: JobProblem | null;
  model_id: ModelId | null;
  gang: JobGang | null;
  /** Whether its progress is sent to the message broker and to webhooks. */
  report_progress: boolean;
  max_cost: Money | null;
  cost: JobCost | null;
  /** Time of submission. */
  created_at: Timestamp;
  /** When the first attempt began, or null. */
  started_at: Timestamp | null;
  /** When the job ended, or null. */
  ended_at: Timestamp | null;
}

/** A try of a job on a worker. */
export interface JobAttempt {
  /** Number of the attempt, from 1. */
  attempt: number;
  /** State of the attempt. */
  state: AttemptState;
  problem: JobProblem | null;
  /** Name of the worker's GPU specification. */
  gpu_spec: string;
  /** When the job was assigned to the worker. */
  assigned_at: Timestamp;
  /** When the worker reported for the first time, or null. */
  begun_at: Timestamp | null;
  /** When it reported work after loading for the first time, or null. The charge begins here. */
  working_at: Timestamp | null;
  /** When it ended; null while it is open. */
  ended_at: Timestamp | null;
  /** Price per hour of the GPU specification at the assignment; null if it was not known. */
  price_per_hour: string | null;
  /** Currency (ISO 4217), or null. */
  currency: string | null;
  /** Factor of the job's level at the assignment, or null. */
  level_factor: string | null;
  /** Seconds that are charged; null while it is open, and for attempts before costs were recorded. */
  seconds: number | null;
  /** seconds × price_per_hour × level_factor ÷ 3600, rounded to six decimal places; null as for `seconds`, or without a price. */
  cost: string | null;
  /** The other seconds since the assignment, or null. */
  uncharged_seconds: number | null;
  uncharged_reason: UnchargedReason | null;
}

/** The results for the jobs of a batch. */
export interface JobBatch {
  /** One item for each job, in the same order. */
  items: JobBatchItem[];
}

/** The result for one job of a batch. Either `job` or `problem` is null. */
export interface JobBatchItem {
  job: Job | null;
  problem: Problem | null;
}

/** A change of a job that waits. Absent members stay as they are. */
export interface JobChange {
  /** Orders the jobs of a tenant, 9 first. The level stays as it is. */
  priority?: number | null;
  level?: JobLevel | null;
  /** The job expires if it waits at that time. At most 30 days ahead. */
  deadline?: Timestamp | null;
}

/** Cost of a job until now: of its attempts that have ended. */
export interface JobCost {
  /** Sum of the costs of attempts. */
  amount: string;
  /** Currency (ISO 4217). Attempts with a price in an earlier currency are not included. */
  currency: string;
  /** Seconds that are charged. */
  seconds: number;
}

/** Job has ended. */
export type JobEndedProblem = Problem & {
    type?: "https://atelier.dev/problems/job-ended";
    /** State of the job. */
    state?: string;
  };

/** An event of a job, with the state of the job at that time. The view `job_event_feed` builds it. */
export interface JobEvent {
  /**
   * Id of the event: the job, and the position among its events. It is the same wherever the event is read or
   * delivered.
   */
  id: string;
  /**
   * Position among the events of the job: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event in the
   * stream of the job.
   */
  sequence: number;
  /** When it happened. */
  time: Timestamp;
  /** Type of the event. */
  type: JobEventType;
  /** The tenant of the job. */
  tenant_id: TenantId;
  /** The job. */
  job_id: JobId;
  /** Number that the client gave the job, or null. */
  req_no: string | null;
  /** Kind of the job. */
  kind: JobKind;
  /** Application of the job. */
  application: string;
  /** Method of the application. */
  method: string;
  /** State of the job. */
  state: JobState;
  /** Number of attempts until then. */
  attempts: number;
  /** Level of the job. */
  level: JobLevel;
  /** Orders the jobs of a tenant, 9 first. */
  priority: number;
  reason: QueuedReason | null;
  problem: JobProblem | null;
  /** The job does not start before this time, or null. */
  not_before: Timestamp | null;
  /** The attempt was told to leave its worker by this time, or null. */
  leave_by: Timestamp | null;
}

/** Type of an event. */
export type JobEventType =
  | "job.submitted"
  | "job.changed"
  | "job.assigned"
  | "job.started"
  | "job.progress"
  | "job.preempting"
  | "job.requeued"
  | "job.cancelling"
  | "job.succeeded"
  | "job.failed"
  | "job.cancelled"
  | "job.expired";

/** Why a job waits, and what it waits for. */
export interface JobExplanation {
  /** Job id. */
  job_id: JobId;
  /** Current state. */
  state: JobState;
  code: JobExplanationCode | null;
  /** The rule in a sentence for a person, or null. */
  message: string | null;
  /** When the rule is expected to no longer stop the job, or null. */
  until: Timestamp | null;
  /**
   * Position in the order of starts, from 1, if all jobs take their median time. Null if the job does not wait, or
   * the pool has too many jobs for a forecast.
   */
  position: number | null;
  /** Median of the expected start, if jobs arrive as in the last minutes. Null as for `position`. */
  expected_start: Timestamp | null;
  expected: ExpectedTimes | null;
  /** Number of jobs of the tenant that start before it. */
  ahead_of_own: number;
  /** Seconds since the job was last queued. */
  waited_seconds: number;
  /** Other ways to run the job: with a higher level (`PATCH /v1/jobs/{id}`), or as a new job in another pool. */
  elsewhere: JobsAlternative[];
}

/** The first rule that stops a job. */
export type JobExplanationCode =
  | "tenant_suspended"
  | "budget_exhausted"
  | "allowance_expired"
  | "not_before"
  | "quota"
  | "model_missing"
  | "no_unit"
  | "group_node"
  | "gathering_gang"
  | "reserved_for_gang"
  | "urgent_spent"
  | "behind_own"
  | "behind_share"
  | "quantum"
  | "busy";

/** Workers that run a job together, each with a rank. */
export interface JobGang {
  /** Number of workers. */
  size: number;
  /** Whether all of them have to be on one node. */
  same_node?: boolean;
}

/** Whether the jobs of a group may run on other nodes than its own. */
export type JobGroupMode = "strict" | "prefer";

/** Job id. */
export type JobId = string & { readonly __id: "JobId" };

/** Kind of a job. */
export type JobKind = "training" | "generation" | "batch";

/** Level of a job. It comes first in the order of jobs. */
export type JobLevel = "urgent" | "ordinary" | "background";

/** The last part of the output of a program. */
export interface JobLog {
  /** Number of the attempt. */
  attempt: number;
  /** The last 65,536 characters of its output and error output. */
  text: string;
  /** Bytes that it has written. */
  bytes: number;
  /** When the last part arrived, or null if none has. */
  updated_at: Timestamp | null;
}

/** Job does not wait. */
export type JobNotQueuedProblem = Problem & {
    type?: "https://atelier.dev/problems/job-not-queued";
    /** State of the job. */
    state?: string;
  };

/** Phase of the work on a job. */
export type JobPhase = "loading" | "working" | "uploading";

/** Why a job failed. */
export interface JobProblem {
  /** Machine-readable code. */
  code: string;
  /** What happened, for a person. */
  message: string;
}

/** Progress of the latest attempt. */
export interface JobProgress {
  /** Current phase of the work. */
  phase: JobPhase;
  /** Steps that are done. */
  step: number;
  /** Steps in all. */
  steps: number;
}

/** Expected times and cost of a job if it is submitted now. */
export interface JobQuote {
  expected: ExpectedTimes | null;
  /** Half of such jobs need at most this many seconds of work, once a worker has loaded the model. */
  work_seconds_p50: number;
  /** Nine of ten such jobs need at most this many seconds of work. */
  work_seconds_p90: number;
  /** Cost on each GPU specification that it may get, in the order of preference, except those without a known price. */
  costs: CostRange[];
}

/** State of a job. */
export type JobState = "queued" | "assigned" | "running" | "cancelling" | "succeeded" | "failed" | "cancelled" | "expired";

/**
 * Cost of the attempts of a group in the window. Of charged work that began before it or continued after it, only the
 * part inside counts.
 */
export interface JobUsageGroup {
  /**
   * Day in UTC (`2026-01-31`), kind, name of the application or of the GPU specification, id of the pool or tenant, or `charged`,
   * `open` or the reason why it is not charged. The application is empty for jobs that were deleted before there were reports.
   */
  group: string;
  /** Charged seconds. */
  seconds: number;
  /** Their cost. The amounts of consecutive windows add up to those of the attempts. */
  amount: string;
  /** Currency (ISO 4217); null for attempts without a known price. */
  currency: string | null;
  /** Seconds of ended attempts that cost nothing: loading, and work that is not charged. */
  uncharged_seconds: number;
  /** How many attempts that were assigned in the window have ended. Grouped by `charge`, those with charged seconds are `charged`. */
  attempts: number;
  /** How many of those that were assigned in the window have not ended. Their cost is known when they end. */
  open_attempts: number;
}

/** Another way to run a job: with a higher level, or in another pool. */
export interface JobsAlternative {
  /** Name of the pool. */
  pool: string;
  level: JobLevel;
  /**
   * Median of the expected start if no more jobs arrive. Null if that is more than a day ahead, or if the pool has
   * too many jobs for a forecast.
   */
  expected_start: Timestamp | null;
  /** Cost on each GPU specification of the pool, in the order of preference, except those without a known price. */
  costs: CostRange[];
}

/** An RSA public key (RFC 7517, RFC 7518). */
export interface Jwk {
  /** Key type: `RSA`. */
  kty: string;
  /** Use: `sig`. */
  use: string;
  /** Algorithm: `RS256`. */
  alg: string;
  /** Key id, as in the header of a token. */
  kid: string;
  /** Modulus, base64url. */
  n: string;
  /** Exponent, base64url. */
  e: string;
}

/** A JWK Set (RFC 7517): the JSON that the keyring caches. */
export interface JwkSet {
  /** Public keys. */
  keys: Jwk[];
}

/** To whom a key belongs. */
export type KeyOwner = "user" | "instance";

/** A language of the console. */
export type Language = "en" | "zh-CN";

/** An error and when it happened. The text has no secrets; the complete one is in the log of the process. */
export interface LastError {
  /** What went wrong. */
  message: string;
  /** When it happened last. */
  at: Timestamp;
}

/** Last owner of the tenant. */
export type LastOwnerProblem = Problem & {
    type?: "https://atelier.dev/problems/last-owner";
    /** The tenant that would lose its last owner. */
    tenant_id?: string;
  };

/**
 * Factors of the price of a GPU specification, by level of the job: decimal numbers in strings, 0 to 100, with at most
 * three decimal places. A change applies to jobs that are assigned afterwards.
 */
export interface LevelFactors {
  /** For urgent jobs. */
  urgent: string;
  /** For ordinary jobs. */
  ordinary: string;
  /** For background jobs. */
  background: string;
}

/** Limits of what a tenant may use at the same time. An absent field means no limit. */
export interface Limits {
  /** Instances, stopped ones included. */
  instances?: number | null;
  /** GPUs of instances that are not stopped, or hold their unit. */
  gpus?: number | null;
  /** The same by GPU model. */
  gpus_by_model?: Record<string, number>;
  /** Price per hour of instances that are not stopped, or hold their unit, by currency (ISO 4217). */
  cost_per_hour?: Record<string, string>;
  /** Whether instances may run images of the tenant's own. A tenant without limits may not. */
  own_images?: boolean;
}

/** An account of a provider with which the caller can sign in. */
export interface LinkedAccount {
  /** Id of the linked account. */
  id: LinkedAccountId;
  /** Id of the provider; null if it is no longer configured, so that the account does not sign in. */
  provider: string | null;
  /** Issuer of the account. */
  issuer: string;
  /** The issuer's id of the account. */
  subject: string;
  /** When the account was linked. */
  created_at: Timestamp;
  /** When the user last signed in with the account, or when it was linked. */
  last_used_at: Timestamp;
}

/** Linked account id: an account of a user at an OpenID provider. */
export type LinkedAccountId = string & { readonly __id: "LinkedAccountId" };

/** Number of items on all pages of a list. */
export interface ListTotal {
  /** Number of items, up to 10,000. */
  count: number;
  /** False if there are more than `count`. */
  is_exact: boolean;
}

/** How important a line is. */
export type LogLevel = "trace" | "debug" | "info" | "warn" | "error";

/** A line of a log, as a server-sent event. */
export interface LogLine {
  /** Time of the line. */
  time: Timestamp;
  /** Text, with U+FFFD for what is not UTF-8. */
  text: string;
  /** Whether the next line continues this one: lines are cut after 64 KiB. */
  continues: boolean;
}

/** The caller. */
export interface Me {
  /** The caller's user. */
  user: User;
  language: Language | null;
  tenant_id: TenantId | null;
  role: Role | null;
  /**
   * All tenants the caller is a member of, oldest membership first. To act for another one, see
   * `update_session`, or refresh the session with its `tenant_id`.
   */
  memberships: Membership[];
}

/** A change of the caller's account. Absent members stay unchanged. */
export interface MeChange {
  /** A new name, which others see. */
  display_name?: string | null;
  language?: Language | null;
}

/** An interval in which the instance was ready. */
export interface MeasuredRun {
  /** Number of the start that it belongs to. */
  attempt: number;
  /** When it began. */
  started_at: Timestamp;
  /** When it ended; null while it continues. */
  ended_at: Timestamp | null;
}

/** A user as a member of a tenant. */
export interface Member {
  /** The user. */
  user_id: UserId;
  /** E-mail address of the user. */
  email: string;
  /** Display name of the user. */
  display_name: string;
  /** The user's role in the tenant. */
  role: Role;
  /** When the user became a member. */
  created_at: Timestamp;
  /** When the role last changed. */
  updated_at: Timestamp;
}

/** A change of a member's role. */
export interface MemberChange {
  /** The new role. */
  role: Role;
}

/** A tenant of the user. */
export interface Membership {
  /** The tenant. */
  tenant: TenantRef;
  /** State of the tenant. */
  state: TenantState;
  /** The user's role in the tenant. */
  role: Role;
}

/** An interval in which the instance was ready, or kept its unit. */
export interface MeteredRun {
  /** Run id. */
  id: RunId;
  /** What was used. */
  kind: UsageKind;
  /** When the readiness probe passed, as reported by the cluster, or the hold began, in whole seconds. */
  started_at: Timestamp;
  /** When the run ended; null while it is open. */
  ended_at: Timestamp | null;
  end_reason: RunEnd | null;
  correction: Correction | null;
  /** Duration in whole seconds; until now for an open run. */
  seconds: number;
  /** Price per hour of the unit, or of its hold, at the time of the claim. */
  price_per_hour: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** seconds × price_per_hour ÷ 3600, rounded to six decimal places. */
  amount: string;
}

/** A metric of an instance. */
export type Metric =
  | "gpu_utilization"
  | "gpu_memory_used"
  | "gpu_memory_free"
  | "gpu_temperature"
  | "gpu_power"
  | "gpu_xid_error"
  | "cpu_usage"
  | "memory_used"
  | "disk_used"
  | "disk_read"
  | "disk_written"
  | "network_received"
  | "network_sent";

/** Values of one metric, and of one GPU. */
export interface MetricSeries {
  /** The metric. */
  metric: Metric;
  /** Unit of the values. */
  unit: Unit;
  /** Number of the GPU in its node; null for metrics that do not belong to a GPU. */
  gpu: string | null;
  /** Where the values come from. */
  source: MetricSource;
  /**
   * A value for each step of the window: the average over the step (for `gpu_xid_error` the largest value), or null
   * without data.
   */
  values: (number | null)[];
}

/** Where values come from. */
export type MetricSource = "prometheus" | "nodes";

/** A metric without values. */
export interface MissingMetric {
  /** The metric. */
  metric: Metric;
  source: MetricSource | null;
  /** Why. */
  reason: MissingReason;
  /** The reason in a sentence for a person. */
  message: string;
}

/** Why there are no values of a metric. */
export type MissingReason = "not_running" | "no_data" | "not_reported" | "pod_unknown" | "unreachable" | "timed_out" | "unexpected_answer";

/** A model: the result of a training. */
export interface Model {
  /** Model id. */
  id: ModelId;
  /** Name; others may have the same. */
  name: string;
  /** Kind of the model. */
  kind: ModelKind;
  /** Name of the base model that it adapts. */
  base_model: string;
  /** The job that made it. */
  job_id: JobId;
  /** SHA-256 of the file, in hexadecimal. */
  sha256: string;
  /** Size of the file in bytes. */
  bytes: number;
  /** Time of creation. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
}

/** A change of a model. */
export interface ModelChange {
  /** New name, 1 to 100 characters. */
  name: string;
}

/** Model id: what a worker has to load for a job. */
export type ModelId = string & { readonly __id: "ModelId" };

/** Kind of a model. */
export type ModelKind = "lora";

/** No pool has the model. */
export type ModelMissingProblem = Problem & {
    type?: "https://atelier.dev/problems/model-missing";
    /** Names of the existing models of this kind, the first 50. */
    models?: unknown[];
  };

/** A module: a service, the gateway, or the operator of a datacenter. */
export interface Module {
  /** Its name. */
  name: string;
  /** Its status: that of its replicas if it is the same for all; otherwise `degraded` while any of them serves. */
  state: HealthState;
  /** The versions of its replicas, without repetition; two during an upgrade. */
  versions: string[];
  /** The longest lag of its replicas, in seconds. */
  lag_seconds: number;
  last_error: LastError | null;
  /** Its replicas, by address. */
  replicas: Replica[];
}

/** An amount in a currency. */
export interface Money {
  /** A decimal number with at most six decimal places. */
  amount: string;
  /** Currency (ISO 4217). */
  currency: string;
}

/** A credential of a tenant for the message broker. */
export interface MqCredential {
  /** Credential id: the user name at the broker, and the `user_id` of each message. */
  id: MqCredentialId;
  /** Name for people. */
  name: string;
  /** The password at the broker. Sent once: null in all other responses. */
  secret: string | null;
  /** Address of the broker, or null if it is not configured. */
  url: string | null;
  /** The exchange to which jobs are published, with the routing key `urgent` or `ordinary`. */
  exchange: string;
  /** The queue of the tenant's events. */
  queue: string;
  created_by: UserId | null;
  created_by_key: ApiKeyId | null;
  /** Time of creation. */
  created_at: Timestamp;
}

/** Message queue credential id: the user name of a tenant at the message broker. */
export type MqCredentialId = string & { readonly __id: "MqCredentialId" };

/** An account to link. */
export interface NewAccountLink {
  /** Id of the provider. */
  provider: string;
  /**
   * Path to which the browser goes afterwards (default `/`). After a failure it has the parameter `sign_in_error`, the
   * last segment of a problem type.
   */
  return_to?: string | null;
}

/** An API key to create. */
export interface NewApiKey {
  /** Name of the key: 1 to 100 characters. */
  name: string;
  /** What the key may be used for: at least one scope. `…:write` includes `…:read`. */
  scopes: Scope[];
  /** When the key expires: at least a minute from now (default: never, or with the API key that creates it). */
  expires_at?: Timestamp | null;
  /**
   * Maximum number of requests per second: 1 to 10,000 (default: only the limits of the user, or of the API key that
   * creates it).
   */
  requests_per_second?: number | null;
}

/** A new access key. */
export interface NewBucketCredential {
  /** Access key id. */
  access_key_id: string;
  /** Secret key. Sent once: null in the response to a replayed request. */
  secret_access_key: string | null;
  /** Name of the bucket. */
  bucket: string;
  /** Base URL for S3 clients (path style), `http(s)://host:port`. */
  endpoint: string;
  /** Region for request signatures. */
  region: string;
}

/** A datacenter to create. */
export interface NewDatacenter {
  /** Unique name: a DNS label. */
  name: string;
  /** Region, for example a country. */
  region: string;
  /** Its cluster, by name in the configuration of the service. */
  cluster: string;
  /** Labels for administrators, at most 16. */
  labels?: Record<string, string>;
}

/** A model to deploy to a volume. */
export interface NewDeployment {
  /** The volume. */
  storage_id: StorageId;
  /**
   * Path of the file below the root of the volume, up to 512 bytes, ending in `.safetensors`. The default is
   * `models/Lora/<name>-<id>.safetensors`, where Stable Diffusion WebUI looks for adapters if its data folder is the
   * root of the volume. An existing file is replaced.
   */
  path?: string | null;
}

/** A specification to create. */
export interface NewGpuSpec {
  /** Unique name: a DNS label. */
  name: string;
  /** GPU model: a Kubernetes label value. */
  gpu_model: string;
  /** Number of GPUs, 1 to 64. */
  gpu_count: number;
  /** Cores of each GPU. */
  gpu_cores: number;
  /** Video memory of each GPU in MiB. */
  video_memory_mib: number;
  /** CPU in thousandths of a core. */
  cpu_millis: number;
  /** Memory in MiB. */
  memory_mib: number;
  /** Ephemeral disk in GiB. */
  disk_gib: number;
  /** Price per hour: a decimal number in a string, 0 to 1000000, with at most 6 digits after the point. */
  price_per_hour: string;
  /** ISO 4217 code of the currency. */
  currency: string;
  /**
   * Part of the price for which a stopped instance may keep its unit: a decimal number in a string, 0 to 1, with at
   * most 4 digits after the point. If absent or null, units cannot be held.
   */
  hold_price_fraction?: string | null;
  /** How the cluster allocates the GPUs. */
  allocation: Allocation;
  /** Labels that the node of a unit must have, at most 16. */
  node_selector?: Record<string, string>;
}

/** A new instance. */
export interface NewInstance {
  /** Name, 1 to 63 characters. Generated if absent. */
  name?: string | null;
  /** GPU specification, by id or name. */
  gpu_spec: string;
  /** Service of the catalogue. Either this or `image` is required. */
  service?: string | null;
  image?: InstanceImage | null;
  /** Version of the service. The recommended one if absent. */
  version?: string | null;
  storage_id?: StorageId | null;
  /** Volumes of the tenant to mount, at most 16, all in one datacenter. */
  storages?: InstanceStorageRequest[];
  new_storage?: NewVolume | null;
  /** Required datacenter, by id or name. That of the storages if absent, any without storages. */
  datacenter?: string | null;
  /**
   * Environment variables, added to those of the service. They are not returned, but `secrets` is the place for
   * secret values.
   */
  env?: EnvVar[];
  /** Secrets: environment variables whose values only the container gets. At most 100. */
  secrets?: InstanceSecretRequest[];
  /** Public keys in OpenSSH format, at most 20, that open this instance only. */
  ssh_keys?: string[];
  /** Whether the instance waits in the queue if no unit is free. Otherwise the start fails at once. */
  wait?: boolean;
  /** What happens when its node is lost. */
  on_node_loss?: OnNodeLoss;
  /**
   * Ports of the container that get their own host names, in addition to the port of the service; at most 10. If
   * absent, the ports with a title in the service or image.
   */
  public_ports?: NewPublicPort[] | null;
  idle_stop?: IdleStopSettings | null;
  /** Whether the instance is started at once. Otherwise it is created stopped. */
  start?: boolean;
}

/** An invitation to send. */
export interface NewInvitation {
  /** E-mail address of the person, whether or not they have an account. */
  email: string;
  /** Role of the person in the tenant, once they accept. */
  role: Role;
}

/** A new job. */
export interface NewJob {
  /** Name of the application. */
  application: string;
  /** A method of the application. */
  method: string;
  /**
   * Parameters of the method. For `stable-diffusion.txt2img`: `prompt`, and optionally `negative_prompt`, `model`,
   * `models` (`id` and `weight` of up to 4 models of the tenant), `width`, `height`, `steps`, `cfg_scale`, `seed`
   * and `images`. For `stable-diffusion.img2img` also `image` (id of an upload, or of a result of another job), and
   * optionally `mask` (the same; repainted where it is white) and `denoising_strength` (0 to 1). For
   * `dreambooth.train`: `images` (ids of 3 to 5 uploads), `theme`, and optionally `token`, `name`, `base_model`,
   * `steps`, `rank` and `seed`. For `command.run`: `command` (program and arguments), and optionally `env`
   * (variables by name), `arguments` (any value), `uploads` and `models` (ids), and `max_seconds`.
   */
  parameters: Record<string, unknown>;
  /** Orders the jobs of a tenant, 9 first. */
  priority?: number | null;
  level?: JobLevel | null;
  /** Jobs with the same group run on one node. At most 128 characters. */
  group?: string | null;
  group_mode?: JobGroupMode | null;
  /** The job expires if it waits at that time. At most 30 days ahead. */
  deadline?: Timestamp | null;
  /**
   * The client's own number of this request: a UUID that the tenant uses once. A later request with the same number
   * and content returns the same job, at any time.
   */
  req_no?: string | null;
  max_cost?: Money | null;
  /**
   * Name of the pool that runs it: one that runs the application for the tenant. By default the oldest such pool, dedicated
   * ones first; while it waits, it may be moved to one where it starts earlier.
   */
  pool?: string | null;
  gang?: JobGang | null;
  /** Whether its progress is sent to the message broker and to webhooks: after each tenth of the steps of an attempt. */
  report_progress?: boolean;
}

/** Up to 1,000 jobs. */
export interface NewJobBatch {
  /** 1 to 1,000 jobs. Each is accepted or refused by itself. */
  jobs: NewJob[];
}

/** A user to add as a member. */
export interface NewMember {
  /** Id of the user. */
  user_id: UserId;
  /** Role of the user in the tenant. */
  role: Role;
}

/** A credential to create. */
export interface NewMqCredential {
  /** Name for people: 1 to 100 characters. */
  name: string;
}

/** A passkey that an authenticator has made. */
export interface NewPasskey {
  /** Name of the passkey: 1 to 100 characters. */
  name: string;
  /** The result of `navigator.credentials.create()`, in the format of `PublicKeyCredential.toJSON()`. */
  credential: Record<string, unknown>;
}

/** A new pool. */
export interface NewPool {
  /** Unique name, an RFC 1123 label. */
  name: string;
  /** Names of the GPU specifications of its workers, in the order in which jobs prefer them: 1 to 16. */
  gpu_specs: string[];
  tenant_id?: TenantId | null;
  /**
   * Applications that its workers run: `stable-diffusion`, `dreambooth`, `command`; the first two if absent. `command` only in a
   * dedicated pool.
   */
  applications?: string[] | null;
  /** It runs jobs of its tenant only. */
  dedicated?: boolean;
  workers?: PoolWorkers | null;
  level_factors?: LevelFactors | null;
}

/** A port of the container that gets a host name of its own. */
export interface NewPublicPort {
  /** Port, 1 to 65,535. The container has to listen on it with HTTP. */
  port: number;
  /** What people open there, for example `Jupyter`: 1 to 100 characters. The title that the service gives this port if absent. */
  title?: string | null;
  /**
   * Whether only signed-in members of the tenant reach it, with a ticket. Otherwise it is open to everyone who knows
   * its host name.
   */
  sign_in?: boolean;
}

/** A registry credential to create. */
export interface NewRegistryCredential {
  /** Name, 1 to 100 characters, unique in the tenant. */
  name: string;
  /** Host of the registry, with its port if it has one, as in names of images. `docker.io` is Docker Hub. */
  registry: string;
  /** User name at the registry, 1 to 255 characters. */
  username: string;
  /** Password or token, at most 8 KiB. Never returned. */
  secret: string;
}

/** A new version of a service. */
export interface NewServiceImage {
  /** Service: 1 to 63 of a-z, 0-9, `-`, `.` and `_`. */
  service: string;
  /** Version: 1 to 63 of a-z, 0-9, `-`, `.` and `_`. */
  version: string;
  /** Description for people, at most 1,000 characters. */
  description?: string;
  /** Descriptions in other languages, by language tag (BCP 47). */
  descriptions?: Record<string, string>;
  /** Address of an icon, `https` only. */
  icon_url?: string | null;
  /** Pages about the service, at most 10. */
  links?: ServiceLink[];
  /** How the service is run. */
  template: ServiceTemplate;
  /** Whether users see it. New instances cannot use one that is disabled. */
  enabled?: boolean;
  /** Whether new instances use it unless they name a version. The service's other versions are no longer recommended. */
  recommended?: boolean;
}

/** A link to create. */
export interface NewShareLink {
  /** What it is for, 1 to 100 characters. */
  name: string;
  /** One of the `public_ports`; the port of the service if absent. */
  port?: number | null;
  recipient?: ShareLinkRecipient | null;
  /** End of the link, at most 30 days from now. */
  expires_at: Timestamp;
}

/** A public key to add. */
export interface NewSshKey {
  /** Name, 1 to 100 characters. The comment of the key if absent. */
  name?: string | null;
  /** The key in OpenSSH format, as in `~/.ssh/id_ed25519.pub`: ed25519 or ecdsa. */
  public_key: string;
}

/** A new storage. */
export interface NewStorage {
  /** 1 to 100 characters, unique in the tenant without regard to case. */
  name: string;
  /** Id or name of the storage specification. */
  storage_spec: string;
  /** Size in GiB, within the sizes of the specification. Optional if the size is fixed. */
  size_gib?: number | null;
  /** Datacenter of a volume. Optional if there is only one. */
  datacenter?: string | null;
}

/** A new storage specification. Sizes: either `size_gib` (fixed), or both `min_size_gib` and `max_size_gib`. */
export interface NewStorageSpec {
  /** 1 to 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit. */
  name: string;
  /** Kind of its storages. */
  kind: StorageKind;
  /** The only size in GiB. */
  size_gib?: number | null;
  /** Smallest size in GiB. */
  min_size_gib?: number | null;
  /** Largest size in GiB. */
  max_size_gib?: number | null;
  /** Price of one GiB for one month, as a decimal string. */
  price_per_gib_month: string;
  /** Currency of the price: three capital letters (ISO 4217). */
  currency: string;
  /** Storage class of the cluster (volumes only). Absent or null for the default class. */
  storage_class?: string | null;
  /** How many nodes can mount a volume. The default is `read_write_many`. */
  access_mode?: VolumeAccessMode;
}

/** A tenant to create. */
export interface NewTenant {
  /** Name of the tenant: 1 to 100 characters, unique, ignoring case. */
  name: string;
}

/** Options of a ticket. */
export interface NewTicketOptions {
  /** One of the `public_ports`; the port of the service if absent. */
  port?: number | null;
}

/** A file that is to be uploaded. */
export interface NewUpload {
  /** Name of the file: at most 100 bytes, without `/` and control characters. */
  name: string;
  /** Media type: `image/png` or `image/jpeg`. */
  content_type: string;
  /** Size in bytes, at most 32 MiB. The PUT has exactly this size. */
  bytes: number;
  /** SHA-256 of the content in hexadecimal. A worker checks it before it uses the file. */
  sha256?: string | null;
}

/** A user to create. */
export interface NewUser {
  /** E-mail address to sign in with. */
  email: string;
  /** Name that others see (default: the part of the e-mail address before the `@`). */
  display_name?: string | null;
  /** Initial password: at least 8 characters, at most 256 bytes. */
  password: string;
  /** Whether the user is a platform administrator. */
  admin?: boolean;
}

/** A volume to create with an instance. */
export interface NewVolume {
  /** Name, unique in the tenant. */
  name: string;
  /** Storage specification of volumes, by id or name. */
  storage_spec: string;
  /** Size in GiB, within the sizes of the specification. Optional if the size is fixed. */
  size_gib?: number | null;
  /** Absolute path in the container. That of the service if absent. */
  mount_path?: string | null;
}

/** A new webhook. */
export interface NewWebhook {
  /** Where messages are sent: an https URL of a public host. */
  url: string;
  /** Types of events that are sent; all if empty. */
  events?: JobEventType[];
}

/** A new worker. */
export interface NewWorker {
  /** Name, an RFC 1123 label, unique in the pool. */
  name: string;
  /** Name of its GPU specification: one of the pool's. */
  gpu_spec: string;
  /** Name of its node. */
  node: string;
}

/** Workers of one node. */
export interface NodeWorkers {
  /**
   * The part of its GPUs that is free, 0 to 1, weighted by price. A job goes to the node where this is least, so that whole
   * nodes stay free for jobs of several workers.
   */
  free_degree: number;
  /** By GPU specification. */
  workers: SpecWorkers[];
}

/** A GPU specification that is for sale. */
export interface Offer {
  /** Name of the specification. */
  name: string;
  /** GPU model. */
  gpu_model: string;
  /** Number of GPUs. */
  gpu_count: number;
  /** Video memory of each GPU in MiB. */
  video_memory_mib: number;
  /** CPU in thousandths of a core. */
  cpu_millis: number;
  /** Memory in MiB. */
  memory_mib: number;
  /** Ephemeral disk in GiB. */
  disk_gib: number;
  /** Summary in one line. */
  summary: string;
  /** Price per hour, a decimal number. */
  price_per_hour: string;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Where the platform has such units, by name. */
  datacenters: OfferedIn[];
}

/** A datacenter that has units of a specification. */
export interface OfferedIn {
  /** Name of the datacenter. */
  name: string;
  /** Whether units can be claimed there. */
  room: Room;
}

/** What happens to an instance when its node is lost. */
export type OnNodeLoss = "restart" | "stop";

/** A long-running action: its request, progress and result. */
export interface Operation {
  /** Operation id. */
  id: OperationId;
  /** The action. */
  kind: OperationKind;
  /** Id of the resource that the action changes. */
  target: string;
  /** Current state. */
  state: OperationState;
  /**
   * Progress of the operation.
   *
   * Stored JSON. A row of an older version may lack members: responses have them as null.
   */
  progress: OperationProgress;
  problem: Problem | null;
  /** Time of the request. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
  /** Time at which the state became final; null before. */
  finished_at: Timestamp | null;
}

/** An operation has begun, advanced or ended. */
export interface OperationChanged {
  /** When it was recorded. */
  time: Timestamp;
  /** The operation at the time of the event. */
  operation: Operation;
}

/** Operation id. */
export type OperationId = string & { readonly __id: "OperationId" };

/** Actions of all services. */
export type OperationKind =
  | "create_instance"
  | "start_instance"
  | "stop_instance"
  | "restart_instance"
  | "delete_instance"
  | "create_storage"
  | "resize_storage"
  | "delete_storage"
  | "add_stock"
  | "remove_stock"
  | "delete_tenant";

/** Progress of an operation. Kinds of operations may add members of their own. */
export interface OperationProgress {
  /** Current phase of the target, for example `starting`; null if the kind has no phases. */
  phase: string | null;
  /** Completed share in percent; null if it is not known. */
  percent: number | null;
  reason: OperationReason | null;
  /** The reason in a sentence for a person, or null. */
  message: string | null;
  [member: string]: unknown;
}

/** Why an operation waits: the reasons of instances, then those of storages. New ones may be added. */
export type OperationReason =
  | "allowance_expired"
  | "budget_exhausted"
  | "claim_rejected"
  | "cluster_unreachable"
  | "terminating"
  | "idle_stopped"
  | "internal"
  | "node_lost"
  | "quota_exceeded"
  | "recalled"
  | "removed_from_unit"
  | "queued"
  | "restored"
  | "secret_unreadable"
  | "stock_exhausted"
  | "stock_unavailable"
  | "storage_elsewhere"
  | "storage_not_available"
  | "storage_not_found"
  | "storage_not_mountable"
  | "storage_unavailable"
  | "stopped_by_administrator"
  | "template_rejected"
  | "tenant_suspended"
  | "unit_gone"
  | "unit_lost"
  | "unit_occupied"
  | "waiting_for_secrets"
  | "scheduling"
  | "unschedulable"
  | "node_cordoned"
  | "preempted"
  | "place_lost"
  | "unsupported_allocation"
  | "invalid_spec"
  | "deleting"
  | "holding"
  | "claimed"
  | "idle"
  | "waiting_for_place"
  | "waiting_for_storage"
  | "handing_over"
  | "starting"
  | "running"
  | "restarting"
  | "container_restarting"
  | "probe_failing"
  | "stopping"
  | "start_failed"
  | "image_pull_failed"
  | "image_pull_denied"
  | "invalid_image_name"
  | "container_config_error"
  | "container_exited"
  | "probe_failed"
  | "start_timeout"
  | "no_place"
  | "storage_missing"
  | "storage_forbidden"
  | "invalid_template"
  | "pod_rejected"
  | "runtime_unavailable"
  | "unknown"
  | "volume_requested"
  | "volume_accepted"
  | "volume_pending"
  | "volume_growing"
  | "volume_failed"
  | "volume_lost"
  | "volume_deleting"
  | "cluster_unavailable"
  | "cluster_refused"
  | "bucket_emptying"
  | "bucket_lost"
  | "bucket_name_taken"
  | "object_store_unavailable"
  | "object_store_refused";

/** The state of an operation. */
export type OperationState = "pending" | "running" | "succeeded" | "failed" | "cancelled";

/** One page of a list. */
export interface PageAdminAction {
  /** Items in the order of the list. */
  items: AdminAction[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageApiKey {
  /** Items in the order of the list. */
  items: ApiKey[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageArtifact {
  /** Items in the order of the list. */
  items: Artifact[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageAuditEntry {
  /** Items in the order of the list. */
  items: AuditEntry[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageBaseModel {
  /** Items in the order of the list. */
  items: BaseModel[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageBucketCredential {
  /** Items in the order of the list. */
  items: BucketCredential[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageDatacenter {
  /** Items in the order of the list. */
  items: Datacenter[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageDeadMessage {
  /** Items in the order of the list. */
  items: DeadMessage[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageDeployment {
  /** Items in the order of the list. */
  items: Deployment[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageEvent {
  /** Items in the order of the list. */
  items: (EventDetail & {
      /** Event id. */
      id: EventId;
      /** Position in the tenant's log: 1, 2, 3 and so on, without gaps. It is the `id` of the server-sent event. */
      sequence: number;
      /**
       * When it was recorded. It does not decrease from one event of the tenant to the next, unless the clock of the
       * database is set back.
       */
      time: Timestamp;
      /** Owner of the instance. */
      tenant_id: TenantId;
      instance_id: InstanceId | null;
      /** Who caused it. */
      actor: EventActor;
      reason: ReasonCode | null;
      /** The reason in a sentence for a person, or null. */
      message: string | null;
    })[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageGpuSpec {
  /** Items in the order of the list. */
  items: GpuSpec[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageInstanceLog {
  /** Items in the order of the list. */
  items: InstanceLog[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageInvitation {
  /** Items in the order of the list. */
  items: Invitation[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageJobAttempt {
  /** Items in the order of the list. */
  items: JobAttempt[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageJobEvent {
  /** Items in the order of the list. */
  items: JobEvent[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageJobUsageGroup {
  /** Items in the order of the list. */
  items: JobUsageGroup[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageLinkedAccount {
  /** Items in the order of the list. */
  items: LinkedAccount[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageMember {
  /** Items in the order of the list. */
  items: Member[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageMembership {
  /** Items in the order of the list. */
  items: Membership[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageModel {
  /** Items in the order of the list. */
  items: Model[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageMqCredential {
  /** Items in the order of the list. */
  items: MqCredential[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageOffer {
  /** Items in the order of the list. */
  items: Offer[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageOperation {
  /** Items in the order of the list. */
  items: Operation[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePasskey {
  /** Items in the order of the list. */
  items: Passkey[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePlatformBudget {
  /** Items in the order of the list. */
  items: PlatformBudget[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePlatformQuota {
  /** Items in the order of the list. */
  items: PlatformQuota[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePlatformStorageQuota {
  /** Items in the order of the list. */
  items: PlatformStorageQuota[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePool {
  /** Items in the order of the list. */
  items: Pool[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePoolShare {
  /** Items in the order of the list. */
  items: PoolShare[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PagePrice {
  /** Items in the order of the list. */
  items: Price[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageReceivedInvitation {
  /** Items in the order of the list. */
  items: ReceivedInvitation[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageRegistryCredential {
  /** Items in the order of the list. */
  items: RegistryCredential[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageRepair {
  /** Items in the order of the list. */
  items: Repair[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageServiceImage {
  /** Items in the order of the list. */
  items: ServiceImage[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageSession {
  /** Items in the order of the list. */
  items: Session[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageShareLink {
  /** Items in the order of the list. */
  items: ShareLink[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageSigningKey {
  /** Items in the order of the list. */
  items: SigningKey[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageSshKey {
  /** Items in the order of the list. */
  items: SshKey[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageSshSession {
  /** Items in the order of the list. */
  items: SshSession[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageStockRow {
  /** Items in the order of the list. */
  items: StockRow[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageStockUnit {
  /** Items in the order of the list. */
  items: StockUnit[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageStorageOffer {
  /** Items in the order of the list. */
  items: StorageOffer[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageStorageSpec {
  /** Items in the order of the list. */
  items: StorageSpec[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageTenant {
  /** Items in the order of the list. */
  items: Tenant[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageUsablePool {
  /** Items in the order of the list. */
  items: UsablePool[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageUsageGroup {
  /** Items in the order of the list. */
  items: UsageGroup[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageUser {
  /** Items in the order of the list. */
  items: User[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageWebhook {
  /** Items in the order of the list. */
  items: Webhook[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageWebhookDelivery {
  /** Items in the order of the list. */
  items: WebhookDelivery[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** One page of a list. */
export interface PageWorker {
  /** Items in the order of the list. */
  items: Worker[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /**
   * Ids of items of this page that exist and whose stored records cannot be read. Report them to an administrator of the
   * platform.
   */
  unreadable: string[];
}

/** A passkey of the caller. */
export interface Passkey {
  /** Id of the passkey. */
  id: PasskeyId;
  /** Name of the passkey. */
  name: string;
  /** When the passkey was registered. */
  created_at: Timestamp;
  /** When the name last changed. */
  updated_at: Timestamp;
  /** When the user last signed in with the passkey, or null. */
  last_used_at: Timestamp | null;
}

/** A challenge for an authenticator. */
export interface PasskeyChallenge {
  /**
   * Options for the browser: parse them with `PublicKeyCredential.parseCreationOptionsFromJSON()` (registration) or
   * `parseRequestOptionsFromJSON()` (sign-in).
   */
  public_key: Record<string, unknown>;
  /** When the challenge expires. */
  expires_at: Timestamp;
}

/** A change of a passkey. */
export interface PasskeyChange {
  /** The new name: 1 to 100 characters. */
  name: string;
}

/** A passkey that has answered a challenge. */
export interface PasskeyCredentials {
  /** The result of `navigator.credentials.get()`, in the format of `PublicKeyCredential.toJSON()`. */
  credential: Record<string, unknown>;
  tenant_id?: TenantId | null;
  /** For browsers: the response sets a cookie instead of returning tokens, as in `create_session`. */
  cookie?: boolean;
}

/** Passkey id. */
export type PasskeyId = string & { readonly __id: "PasskeyId" };

/** A new password. */
export interface PasswordChange {
  /** The current password. */
  current_password: string;
  /** The new password: at least 8 characters, at most 256 bytes. */
  new_password: string;
}

/** An instance that held a unit. */
export interface PastHolder {
  /** Instance id. */
  instance_id: InstanceId;
  /** Tenant of the instance. */
  tenant_id: TenantId;
  /** Time of the claim. */
  claimed_at: Timestamp;
  /** Time of the release. */
  released_at: Timestamp;
}

/** The budget of a tenant. */
export interface PlatformBudget {
  /** The tenant. */
  tenant_id: TenantId;
  /** Its budget. */
  terms: BudgetTerms;
}

/** The health of the platform. */
export interface PlatformHealth {
  /** `ok` if all modules are, `degraded` while each has a replica that serves, otherwise `unavailable`. */
  state: HealthState;
  /** When the replicas were asked. */
  checked_at: Timestamp;
  /** The modules, by name. */
  modules: Module[];
}

/** An instance of any tenant. */
export type PlatformInstance = Instance & {
    /** Owner of the instance. */
    tenant_id: TenantId;
  };

/** Whether code of tenants runs, by datacenter. */
export interface PlatformIsolation {
  /** Datacenters with units, by name. */
  datacenters: DatacenterIsolation[];
}

/** A line of a process of the platform. */
export type PlatformLogLine = GatewayLogLine & {
    /** The module. */
    module: string;
    /** Address of the replica in the platform's network. */
    replica: string;
  };

/** The newest lines of the platform's processes. */
export interface PlatformLogs {
  /** The lines, the newest first. */
  items: PlatformLogLine[];
  /** Replicas whose lines are missing. */
  unreachable: SilentReplica[];
}

/** The limits of a tenant. */
export interface PlatformQuota {
  /** The tenant. */
  tenant_id: TenantId;
  /** Its limits. */
  limits: Limits;
}

/** A storage of any tenant. */
export type PlatformStorage = Storage & {
    /** Owner of the storage. */
    tenant_id: TenantId;
  };

/** The limits of a tenant. */
export interface PlatformStorageQuota {
  /** The tenant. */
  tenant_id: TenantId;
  /** Its limits. */
  limits: StorageLimits;
}

/** A pool: workers of one kind with one scheduler. */
export interface Pool {
  /** Pool id. */
  id: PoolId;
  /** Unique name. */
  name: string;
  /** Names of the GPU specifications of its workers, in the order in which jobs prefer them. */
  gpu_specs: string[];
  tenant_id: TenantId | null;
  /** Applications that its workers run. */
  applications: string[];
  /** Whether it runs jobs of its tenant only. */
  dedicated: boolean;
  workers: PoolWorkers | null;
  /** Factors of the price by level. */
  level_factors: LevelFactors;
  /** The workers of the pool. */
  status: PoolStatus;
  /** Time of creation. */
  created_at: Timestamp;
}

/** The workers of a pool, the jobs that wait, and the jobs expected to start and end. */
export interface PoolCapacity {
  /** Pool id. */
  pool_id: PoolId;
  /** The time of these numbers: at most a second ago. */
  at: Timestamp;
  /** Jobs that wait for a worker, urgent ones first. */
  queued: QueuedJobs[];
  /** All workers, by GPU specification. */
  workers: SpecWorkers[];
  /** Its nodes, the fullest first. */
  nodes: NodeWorkers[];
  /**
   * Jobs that start and end within the next hour if no more come and all take their median time, by GPU
   * specification and level. Null if the pool has too many jobs for a forecast.
   */
  next_hour: ExpectedJobs[] | null;
}

/** Pool id: workers of one kind with one scheduler. */
export type PoolId = string & { readonly __id: "PoolId" };

/** A change of a pool. Absent members stay as they are. */
export interface PoolPatch {
  workers?: PoolWorkers | null;
  level_factors?: LevelFactors | null;
  /** Applications that its workers run. Jobs that already wait stay in the pool. */
  applications?: string[] | null;
}

/** The share that a tenant has in a pool. */
export interface PoolShare {
  /** The tenant. */
  tenant_id: TenantId;
  /** The share. */
  share: Share;
}

/** The workers of a pool. */
export interface PoolStatus {
  /** Number of firm workers that the platform should run now. */
  desired: number;
  /** Number of firm workers that it runs or starts. */
  actual: number;
  /** Number of lent workers that the platform should run now, if there are GPUs that nobody else uses. */
  lent_desired: number;
  /** Number of lent workers that it runs or starts. */
  lent_actual: number;
  /** Number of workers that accept jobs, including registered ones. */
  ready: number;
  /** Why the last worker failed, or null if one has become ready since. */
  problem: string | null;
  /** No worker is ordered before this time, or null. */
  retry_at: Timestamp | null;
}

/**
 * Workers that the platform runs as instances of the pool's tenant: firm ones with the first of its GPU specifications, and lent
 * ones with any of them.
 */
export interface PoolWorkers {
  /** Service of the catalogue: a runner with its engine. */
  service: string;
  /** Version of the service; null for the recommended one at the time of the order. */
  version?: string | null;
  /** Least number of firm workers, which keep their GPUs. */
  min: number;
  /** Greatest number of firm workers. Between `min` and `max`, the number depends on the queue. */
  max: number;
  /**
   * Greatest number of lent workers, on GPUs that nobody else uses. Any other instance that finds no free GPU takes
   * theirs. They only help firm workers, so `max` has to be at least 1.
   */
  lent_max?: number;
}

/** Protocol of a port. */
export type PortProtocol = "TCP" | "UDP" | "SCTP";

/** A price and the time in which it was effective. */
export interface Price {
  /** Price per hour, a decimal number. */
  price_per_hour: string;
  /** ISO 4217 code of the currency. */
  currency: string;
  /** Part of the price, 0 to 1, for which a stopped instance could keep its unit; null if it could not. */
  hold_price_fraction: string | null;
  /** Start. */
  effective_from: Timestamp;
  /** End; null for the current price. */
  effective_until: Timestamp | null;
}

/**
 * An error response (RFC 9457, `application/problem+json`).
 *
 * `type` is text here, not a [`ProblemType`]: a newer service may answer a type that this version does not
 * know.
 */
export interface Problem {
  /** Stable URI of the problem type. */
  type: ProblemType;
  /** The kind of problem in a few words, the same for each occurrence. */
  title: string;
  /** The HTTP status, repeated. */
  status: number;
  /** What happened this time, in a sentence for a person. */
  detail: string;
  /** What the caller can do next. */
  next?: string | null;
  /** The fields that were not accepted. */
  errors?: FieldError[];
  [member: string]: unknown;
}

/** Stable URI of the problem type. Compare the whole value; do not fetch it. New types may be added. */
export type ProblemType =
  | "https://atelier.dev/problems/bad-request"
  | "https://atelier.dev/problems/invalid-field"
  | "https://atelier.dev/problems/body-too-large"
  | "https://atelier.dev/problems/body-too-slow"
  | "https://atelier.dev/problems/unsupported-media-type"
  | "https://atelier.dev/problems/no-such-route"
  | "https://atelier.dev/problems/method-not-allowed"
  | "https://atelier.dev/problems/not-found"
  | "https://atelier.dev/problems/unauthenticated"
  | "https://atelier.dev/problems/forbidden"
  | "https://atelier.dev/problems/insufficient-scope"
  | "https://atelier.dev/problems/person-required"
  | "https://atelier.dev/problems/api-key-limited"
  | "https://atelier.dev/problems/recent-sign-in-required"
  | "https://atelier.dev/problems/name-taken"
  | "https://atelier.dev/problems/if-match-required"
  | "https://atelier.dev/problems/changed-meanwhile"
  | "https://atelier.dev/problems/idempotency-key-required"
  | "https://atelier.dev/problems/idempotency-key-invalid"
  | "https://atelier.dev/problems/idempotency-key-in-use"
  | "https://atelier.dev/problems/idempotency-key-reused"
  | "https://atelier.dev/problems/internal"
  | "https://atelier.dev/problems/unreadable"
  | "https://atelier.dev/problems/unavailable"
  | "https://atelier.dev/problems/no-answer"
  | "https://atelier.dev/problems/overloaded"
  | "https://atelier.dev/problems/too-many-requests"
  | "https://atelier.dev/problems/wrong-credentials"
  | "https://atelier.dev/problems/second-factor-required"
  | "https://atelier.dev/problems/totp-enabled"
  | "https://atelier.dev/problems/passkeys-disabled"
  | "https://atelier.dev/problems/passkey-refused"
  | "https://atelier.dev/problems/too-many-passkeys"
  | "https://atelier.dev/problems/last-sign-in-method"
  | "https://atelier.dev/problems/account-taken"
  | "https://atelier.dev/problems/too-many-attempts"
  | "https://atelier.dev/problems/sign-in-failed"
  | "https://atelier.dev/problems/no-account"
  | "https://atelier.dev/problems/session-ended"
  | "https://atelier.dev/problems/user-disabled"
  | "https://atelier.dev/problems/not-a-member"
  | "https://atelier.dev/problems/tenant-suspended"
  | "https://atelier.dev/problems/api-key-invalid"
  | "https://atelier.dev/problems/too-many-api-keys"
  | "https://atelier.dev/problems/too-many-mq-credentials"
  | "https://atelier.dev/problems/tenant-active"
  | "https://atelier.dev/problems/tenant-has-members"
  | "https://atelier.dev/problems/email-taken"
  | "https://atelier.dev/problems/last-administrator"
  | "https://atelier.dev/problems/last-owner"
  | "https://atelier.dev/problems/already-a-member"
  | "https://atelier.dev/problems/too-many-invitations"
  | "https://atelier.dev/problems/rotation-under-way"
  | "https://atelier.dev/problems/gpu-spec-in-use"
  | "https://atelier.dev/problems/gpu-spec-retired"
  | "https://atelier.dev/problems/datacenter-in-use"
  | "https://atelier.dev/problems/datacenter-draining"
  | "https://atelier.dev/problems/stock-in-use"
  | "https://atelier.dev/problems/unit-in-use"
  | "https://atelier.dev/problems/stock-exhausted"
  | "https://atelier.dev/problems/already-claimed"
  | "https://atelier.dev/problems/stock-not-held"
  | "https://atelier.dev/problems/too-many-operations"
  | "https://atelier.dev/problems/instance-state"
  | "https://atelier.dev/problems/instance-managed"
  | "https://atelier.dev/problems/instance-exists"
  | "https://atelier.dev/problems/hold-not-offered"
  | "https://atelier.dev/problems/idle-stop-not-set"
  | "https://atelier.dev/problems/instance-not-running"
  | "https://atelier.dev/problems/instance-failed"
  | "https://atelier.dev/problems/instance-broke-off"
  | "https://atelier.dev/problems/not-opened"
  | "https://atelier.dev/problems/cross-origin"
  | "https://atelier.dev/problems/websocket-required"
  | "https://atelier.dev/problems/too-many-streams"
  | "https://atelier.dev/problems/terminal-session-ended"
  | "https://atelier.dev/problems/log-archive-disabled"
  | "https://atelier.dev/problems/events-deleted"
  | "https://atelier.dev/problems/isolation-unavailable"
  | "https://atelier.dev/problems/registry-credential-exists"
  | "https://atelier.dev/problems/registry-credential-missing"
  | "https://atelier.dev/problems/too-many-registry-credentials"
  | "https://atelier.dev/problems/ssh-key-exists"
  | "https://atelier.dev/problems/too-many-ssh-keys"
  | "https://atelier.dev/problems/too-many-webhooks"
  | "https://atelier.dev/problems/too-many-jobs"
  | "https://atelier.dev/problems/too-many-share-links"
  | "https://atelier.dev/problems/service-version-exists"
  | "https://atelier.dev/problems/quota-exceeded"
  | "https://atelier.dev/problems/cost-limit-exceeded"
  | "https://atelier.dev/problems/budget-exhausted"
  | "https://atelier.dev/problems/allowance-expired"
  | "https://atelier.dev/problems/storage-not-available"
  | "https://atelier.dev/problems/storage-in-use"
  | "https://atelier.dev/problems/storage-deleting"
  | "https://atelier.dev/problems/storage-failed"
  | "https://atelier.dev/problems/storage-spec-in-use"
  | "https://atelier.dev/problems/storage-spec-retired"
  | "https://atelier.dev/problems/no-object-store"
  | "https://atelier.dev/problems/no-bucket-spec"
  | "https://atelier.dev/problems/not-a-bucket"
  | "https://atelier.dev/problems/too-many-credentials"
  | "https://atelier.dev/problems/no-pool"
  | "https://atelier.dev/problems/job-ended"
  | "https://atelier.dev/problems/job-not-queued"
  | "https://atelier.dev/problems/req-no-reused"
  | "https://atelier.dev/problems/attempt-not-yours"
  | "https://atelier.dev/problems/upload-missing"
  | "https://atelier.dev/problems/input-missing"
  | "https://atelier.dev/problems/model-missing"
  | "https://atelier.dev/problems/deployment-in-progress"
  | "https://atelier.dev/problems/artifact-gone"
  | "https://atelier.dev/problems/worker-busy"
  | "https://atelier.dev/problems/operation-id-reused"
  | "https://atelier.dev/problems/operation-in-progress"
  | "https://atelier.dev/problems/instance-stopping"
  | "https://atelier.dev/problems/instance-id-reused"
  | "https://atelier.dev/problems/storage-id-reused"
  | (string & {});

/** A queue of reconciles, which all replicas share. */
export interface Queue {
  /** The table whose rows are reconciled. */
  name: string;
  /** Rows that wait for a reconcile, counted up to 10,000. */
  due: number;
  /** For how many seconds the oldest of them has waited. */
  lag_seconds: number;
  last_error: LastError | null;
}

/** A place in the queue. */
export interface QueueView {
  /** False if the stock service does not answer; its fields are then null. */
  is_known: boolean;
  /** What the instance waits for. */
  waiting_for: WaitingFor;
  /** Its place; 1 is next. Tenants take turns. */
  position: number | null;
  /** Instances that wait for this GPU specification. */
  length: number | null;
  /** Time since which it waits. */
  since: Timestamp | null;
  estimate: Estimate | null;
}

/** Jobs of one level that wait for a worker. */
export interface QueuedJobs {
  level: JobLevel;
  /** Number of jobs, of all tenants. */
  jobs: number;
}

/** Why a job waits: why its last attempt ended, or why no job of its tenant can start. */
export type QueuedReason =
  | "retry"
  | "worker_lost"
  | "preempted"
  | "recalled"
  | "tenant_suspended"
  | "budget_exhausted"
  | "allowance_expired";

/** The limits of a tenant, and its current usage. */
export interface Quota {
  /** The limits. */
  limits: Limits;
  /** Current usage. */
  used: Use;
}

/** Quota of the tenant exceeded. */
export type QuotaExceededProblem = Problem & {
    type?: "https://atelier.dev/problems/quota-exceeded";
    /** The limited quantity: `storages`, `storage_gib` (the sum of their sizes in GiB), `instances`, `gpus`, or `gpus of` a model. */
    quota?: string;
    /** The quota. */
    limit?: number;
    /** Current usage, including what is being stopped or deleted. */
    used?: number;
    /** The part that the request adds. */
    requested?: number;
  };

/** What an instance would cost, and when it would start. */
export interface Quote {
  /** GPU specification. */
  gpu_spec: GpuSpecRef;
  /** Current price per hour. */
  price_per_hour: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** Price per hour of keeping the unit while the instance is stopped; null if that is not offered. */
  hold_price_per_hour: string | null;
  /** Whether a unit is free now, and the tenant's limits and budget allow it. Nothing is reserved: another instance may take it. */
  starts_now: boolean;
  /** Free units. */
  available: number;
  reason: ReasonCode | null;
  /** The reason in a sentence for a person, or null. */
  message: string | null;
  /** Instances that wait for such a unit. */
  waiting: number;
  estimate: Estimate | null;
  /** What would start now instead; empty if it starts now. */
  alternatives: Alternative[];
}

/** Machine-readable reason of an instance's state. */
export type ReasonCode =
  | "allowance_expired"
  | "budget_exhausted"
  | "claim_rejected"
  | "cluster_unreachable"
  | "terminating"
  | "idle_stopped"
  | "internal"
  | "node_lost"
  | "quota_exceeded"
  | "recalled"
  | "removed_from_unit"
  | "queued"
  | "restored"
  | "secret_unreadable"
  | "stock_exhausted"
  | "stock_unavailable"
  | "storage_elsewhere"
  | "storage_not_available"
  | "storage_not_found"
  | "storage_not_mountable"
  | "storage_unavailable"
  | "stopped_by_administrator"
  | "template_rejected"
  | "tenant_suspended"
  | "unit_gone"
  | "unit_lost"
  | "unit_occupied"
  | "waiting_for_secrets"
  | "scheduling"
  | "unschedulable"
  | "node_cordoned"
  | "preempted"
  | "place_lost"
  | "unsupported_allocation"
  | "invalid_spec"
  | "deleting"
  | "holding"
  | "claimed"
  | "idle"
  | "waiting_for_place"
  | "waiting_for_storage"
  | "handing_over"
  | "starting"
  | "running"
  | "restarting"
  | "container_restarting"
  | "probe_failing"
  | "stopping"
  | "start_failed"
  | "image_pull_failed"
  | "image_pull_denied"
  | "invalid_image_name"
  | "container_config_error"
  | "container_exited"
  | "probe_failed"
  | "start_timeout"
  | "no_place"
  | "storage_missing"
  | "storage_forbidden"
  | "invalid_template"
  | "pod_rejected"
  | "runtime_unavailable"
  | "unknown";

/** An open invitation, as the invited person sees it. */
export interface ReceivedInvitation {
  /** Id of the invitation. */
  id: InvitationId;
  /** The tenant. */
  tenant: TenantRef;
  /** The caller's role in the tenant, once they accept. */
  role: Role;
  /** E-mail address of the user who sent the invitation. */
  invited_by: string;
  /** When the invitation was created. */
  created_at: Timestamp;
  /** When the invitation expires. */
  expires_at: Timestamp;
}

/** Sign in again first. */
export type RecentSignInRequiredProblem = Problem & {
    type?: "https://atelier.dev/problems/recent-sign-in-required";
    /** Maximum time since the sign-in, in seconds. */
    within_seconds?: number;
  };

/** The jobs of request numbers. */
export interface Reconciled {
  /** One item for each number, in the same order. */
  items: ReconciledItem[];
}

/** The job of a request number. */
export interface ReconciledItem {
  /** The number. */
  req_no: string;
  job_id: JobId | null;
  state: JobState | null;
}

/** Request numbers of the jobs to return. */
export interface Reconciliation {
  /** 1 to 500 request numbers. */
  req_nos: string[];
}

/** Codes for when the device is lost. */
export interface RecoveryCodes {
  /** Each can be used once, instead of a code of the app. Only in the first response; null otherwise. */
  recovery_codes: string[] | null;
}

/** A refresh token. */
export interface Refresh {
  /** The newest refresh token of the session. */
  refresh_token: string;
  tenant_id?: TenantId | null;
}

/** Why a message was refused. */
export type RefusalCode =
  | "malformed"
  | "unauthenticated"
  | "tenant-suspended"
  | "unknown-method"
  | "task-type-mismatch"
  | "invalid-parameters"
  | "input-missing"
  | "model-missing"
  | "req-no-reused"
  | "too-large"
  | "no-capacity-ever"
  | "deadline-passed"
  | "too-many-jobs"
  | "unknown-routing-key"
  | "message-expired"
  | "delivery-failed"
  | "too-many-messages";

/** A credential for pulling images from a private registry. */
export interface RegistryCredential {
  /** Registry credential id. */
  id: RegistryCredentialId;
  /** Name for people. */
  name: string;
  /** Host of the registry, with its port if it has one. */
  registry: string;
  /** User name at the registry. */
  username: string;
  /** The user who created it: it ends with this user's rights in the tenant. */
  created_by: UserId;
  created_by_key: ApiKeyId | null;
  /** Time of creation. */
  created_at: Timestamp;
}

/** Registry credential id. */
export type RegistryCredentialId = string & { readonly __id: "RegistryCredentialId" };

/** Drift that was found and repaired. */
export interface Repair {
  /** Number of the repair; later repairs have higher numbers. */
  id: number;
  /** Time of the repair. */
  at: Timestamp;
  /** Cluster in which the drift was found; null for counts. */
  cluster: string | null;
  /** What differed, and how it was repaired. */
  kind: RepairKind;
  unit_id: UnitId | null;
  /** What was found, in a sentence for a person. */
  detail: string;
}

/** What differed, and how it was repaired. */
export type RepairKind = "object_missing" | "object_orphaned" | "object_adopted" | "object_altered" | "status_missed" | "counts";

/** The result of replaying a message. */
export interface Replay {
  /** The outcome. */
  outcome: ReplayOutcome;
  code: RefusalCode | null;
}

/** Outcome of replaying a message. */
export type ReplayOutcome = "accepted" | "duplicate" | "refused";

/** A replica of a module. */
export interface Replica {
  /** Its address in the platform's network, or a host name without an address. */
  address: string;
  /** How it is. */
  state: HealthState;
  /** Why it is `unreachable`; null if it answered. */
  error: string | null;
  report: Report | null;
}

/** What a process reports about itself. */
export interface Report {
  /** The module: `gpu`, `gateway`, `operator`. */
  module: string;
  /** How it is. */
  state: HealthState;
  /** Why it is not `ok`; null if it is. */
  reason: string | null;
  /** The version of the program. */
  version: string;
  /** The revision of the source code; null in a build for development, which does not say it. */
  revision: string | null;
  /** When the process started. */
  started_at: Timestamp;
  /** The longest lag of its workers and queues, in seconds. */
  lag_seconds: number;
  last_error: LastError | null;
  /** What it calls. */
  dependencies: Dependency[];
  /** Its background workers. */
  workers: GatewayWorker[];
  /** Its queues. */
  queues: Queue[];
}

/** Request number used for another job. */
export type ReqNoReusedProblem = Problem & {
    type?: "https://atelier.dev/problems/req-no-reused";
    /** Id of the job that has the number. */
    job_id?: string;
  };

/** Why events may be missing. */
export type ResetReason = "events_deleted" | "position_unknown";

/** Why instances can be started again. */
export type ResumeCause = "new_month" | "budget_changed" | "correction";

/** Role of a user in a tenant. Each role includes the rights of those before it. */
export type Role = "viewer" | "member" | "owner";

/** Whether units can be claimed. */
export type Room = "many" | "few" | "none";

/** Why a run ended. */
export type RunEnd = EndReason | HoldEnd;

/** Run id: one metered interval in which an instance was running. */
export type RunId = string & { readonly __id: "RunId" };

/** What a token may be used for. `…:write` includes `…:read` of the same name. */
export type Scope =
  | "instances:read"
  | "instances:write"
  | "storages:read"
  | "storages:write"
  | "jobs:read"
  | "jobs:write"
  | "catalogue:read"
  | "usage:read"
  | "audit:read"
  | "members:read"
  | "members:write"
  | "account:read"
  | "account:write"
  | "api-keys:read"
  | "api-keys:write"
  | "platform:read"
  | "platform:write";

/** A version of a service. */
export interface ServiceImage {
  /** Entry id. */
  id: ImageId;
  /** Service, for example `stable-diffusion-webui`. */
  service: string;
  /** Version, for example `1.6`. */
  version: string;
  /** Description for people. */
  description: string;
  /** Descriptions in other languages, by language tag (BCP 47). */
  descriptions: Record<string, string>;
  /** Address of an icon. */
  icon_url: string | null;
  /** Pages about the service. */
  links: ServiceLink[];
  /** How the service is run. Only administrators see the values of its environment variables. */
  template: ServiceTemplate;
  /** Whether users see it. */
  enabled: boolean;
  /** Whether new instances use it unless they name a version. At most one version of a service is recommended. */
  recommended: boolean;
  /** Whether new instances cannot use it any longer. Existing instances start as before. */
  deprecated: boolean;
  /** Time of creation. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
}

/** A change of an entry. Absent fields stay as they are. */
export interface ServiceImageChange {
  /** Description for people, at most 1,000 characters. */
  description?: string | null;
  /** All descriptions in other languages, by language tag (BCP 47). */
  descriptions?: Record<string, string> | null;
  /** Address of an icon, `https` only. Empty to remove it. */
  icon_url?: string | null;
  /** All pages about the service, at most 10. */
  links?: ServiceLink[] | null;
  template?: ServiceTemplate | null;
  /** Whether users see it. New instances cannot use one that is disabled. */
  enabled?: boolean | null;
  /** Whether new instances use it unless they name a version. The service's other versions are no longer recommended. */
  recommended?: boolean | null;
  /** Whether users see it, and new instances cannot use it. Existing instances start as before. */
  deprecated?: boolean | null;
}

/** A link to a page about the service. */
export interface ServiceLink {
  /** Text of the link, 1 to 100 characters. */
  title: string;
  /** Address, `https` or `http`. */
  url: string;
}

/**
 * How a container image is run. Each instance keeps a copy: a change of the catalogue does not change existing
 * instances.
 */
export interface ServiceTemplate {
  /** Container image. */
  image: string;
  /** Ports of the container. One must be public and one must be for the probe; they may be the same. */
  ports: TemplatePort[];
  /** Environment variables. Those of the user are added. */
  env?: EnvVar[];
  /** Entry point. That of the image if empty. */
  command?: string[];
  /** Arguments. Those of the image if empty. */
  args?: string[];
  /** Working directory. That of the image if absent. */
  working_dir?: string | null;
  /** Mount path of the user's storage. Absent if the service uses no storage. */
  storage_mount_path?: string | null;
  /** Whether the container runs as root. It gets a user namespace of its own then. */
  root_inside?: boolean;
  /** Size of `/dev/shm` in MiB. */
  shm_size_mib?: number | null;
  /** Runtime class. The default of the cluster if absent. */
  runtime_class_name?: string | null;
  /** Seconds between the termination signal and the kill. */
  termination_grace_period_seconds?: number;
  /** Seconds after which a start fails if the readiness probe has not passed. */
  start_timeout_seconds?: number;
}

/** A session of the caller. */
export interface Session {
  /** Id of the session. */
  id: SessionId;
  /** Whether this is the session of the request. */
  current: boolean;
  /** Whether it is the session of a browser, with a cookie instead of tokens. */
  cookie: boolean;
  tenant_id: TenantId | null;
  /** `User-Agent` of the client at sign-in, or null. */
  user_agent: string | null;
  /** Address of the client that last used the session, or null. */
  address: string | null;
  /** When the user signed in. */
  created_at: Timestamp;
  /** When the session was last used: to the minute with a cookie, else when it was last refreshed. */
  last_used_at: Timestamp;
  /** When the session ends, regardless of use. */
  expires_at: Timestamp;
}

/** A change of the session. */
export interface SessionChange {
  /** The tenant to act for from now on: an active one of which the user is a member. */
  tenant_id: TenantId;
}

/** Session id: a family of refresh tokens. */
export type SessionId = string & { readonly __id: "SessionId" };

/** The tenant that a session acts for. */
export interface SessionTenant {
  /** The tenant. */
  tenant: TenantRef;
  /** The user's role in it. */
  role: Role;
}

/** A session's tokens. */
export interface SessionTokens {
  /** Send it as `Authorization: Bearer …`. Null for a session with a cookie. */
  access_token: string | null;
  /** Always `Bearer`. */
  token_type: string;
  /** Seconds for which the access token is valid. */
  expires_in: number;
  /** Exchange it once for new tokens at `/v1/sessions/refresh`. Null for a session with a cookie. */
  refresh_token: string | null;
  /** When the session ends, regardless of refreshes. */
  session_expires_at: Timestamp;
  /** The user who signed in. */
  user: User;
  tenant: TenantRef | null;
  role: Role | null;
}

/** The share of a tenant in a pool. A job with several workers counts once for each of them. */
export interface Share {
  /** Weight of the tenant when workers that are not guaranteed are divided among tenants with jobs that wait. */
  weight?: number;
  /**
   * Workers that the tenant gets before others. Other tenants may use them while it does not; it gets them back when
   * it needs them.
   */
  guarantee?: number;
  /** Maximum number of workers at the same time; null for no limit. */
  limit?: number | null;
  /** Maximum number of workers for urgent jobs at the same time; further urgent jobs rank as ordinary ones. */
  urgent?: number;
}

/** The share of a tenant in a pool, and what it uses. */
export interface ShareInUse {
  /** The share. */
  share: Share;
  /** Workers that its jobs run on. */
  workers: number;
  /** Number of these that run urgent jobs. */
  urgent_workers: number;
  /** Jobs that wait for workers. */
  queued: number;
}

/** A link that opens one port of an instance to everyone who has it, or to one person. */
export interface ShareLink {
  /** Share link id. */
  id: ShareLinkId;
  /** What it is for. */
  name: string;
  /** The public port; null for the port of the service. */
  port: number | null;
  /** The link. Null except in the response to its creation, and when that request is repeated. */
  url: string | null;
  recipient: ShareLinkRecipient | null;
  /** Id of the user who created it. It ends with this user's rights. */
  created_by: UserId;
  created_by_key: ApiKeyId | null;
  /** When it was created. */
  created_at: Timestamp;
  /** End of the link. */
  expires_at: Timestamp;
  /** When it was last opened, or null. */
  last_used_at: Timestamp | null;
}

/** Share link id. */
export type ShareLinkId = string & { readonly __id: "ShareLinkId" };

/** One person, of any tenant. */
export interface ShareLinkRecipient {
  /** The e-mail address with which the person signs in. No user needs to have it yet. */
  email: string;
}

/** A provider with whose accounts people sign in. */
export interface SignInProvider {
  /** Id of the provider. */
  id: string;
  /** Name to show. */
  name: string;
  /** Path that begins a sign-in, for a link. */
  path: string;
}

/** A list of providers. */
export interface SignInProviders {
  /** The providers, in the order of the configuration. */
  items: SignInProvider[];
}

/** A key that signs access tokens. */
export interface SigningKey {
  /** `kid` of the tokens it signs. */
  id: SigningKeyId;
  /** Always `RS256`. */
  algorithm: string;
  /** The current stage. */
  stage: Stage;
  /** When the key began, or begins, to sign. */
  active_from: Timestamp;
  /** When it was created. */
  created_at: Timestamp;
}

/** Signing key id. */
export type SigningKeyId = string & { readonly __id: "SigningKeyId" };

/** A request for the next signing key. */
export interface SigningKeyRequest {
  /** Id of the key, once it exists. */
  id: SigningKeyId;
  /** When the key was requested. */
  requested_at: Timestamp;
}

/** A replica that did not answer. */
export interface SilentReplica {
  /** The module. */
  module: string;
  /** Its address in the platform's network, or a host name without an address. */
  replica: string;
  /** Why. */
  error: string;
}

/** Workers of one GPU specification. */
export interface SpecWorkers {
  /** Name of the GPU specification. */
  gpu_spec: string;
  /** Workers whose GPUs are the pool's own. */
  firm: number;
  /** Workers on idle GPUs that are lent to the pool until an instance needs them. */
  lent: number;
  /** Workers without a job, ready for one. */
  idle: number;
  /** Workers with a job. */
  busy: number;
  /** Workers reserved for a job that waits for several workers, or for which other jobs are stopped. */
  reserved: number;
  /** Workers that get no jobs: they do not respond, are drained or recalled, or run on a node that loses workers. */
  closed: number;
}

/** The SSH endpoint: `ssh -p <port> <instance id>@<host>`. */
export interface SshEndpoint {
  /** Host name. */
  host: string;
  /** Port. */
  port: number;
  /** Public host key in OpenSSH format. */
  host_key: string;
  /** Fingerprint of the host key, as `ssh` shows it at the first connection. */
  fingerprint: string;
  /** The line for `~/.ssh/known_hosts`. */
  known_hosts: string;
}

/** A public key that opens instances. */
export interface SshKey {
  /** SSH key id. */
  id: SshKeyId;
  /** Name for people. */
  name: string;
  /** The key in OpenSSH format, without comment. */
  public_key: string;
  /** Fingerprint, as `ssh-keygen -l` prints it. */
  fingerprint: string;
  /** The user who added it. A key of an instance ends with this user's rights in the tenant. */
  created_by: UserId;
  created_by_key: ApiKeyId | null;
  /** When it was added. */
  created_at: Timestamp;
  /** When it was last used to open an instance, or null. */
  last_used_at: Timestamp | null;
}

/** SSH key id. */
export type SshKeyId = string & { readonly __id: "SshKeyId" };

/** One connection over SSH to an instance. */
export interface SshSession {
  /** SSH session id. */
  id: SshSessionId;
  /** Owner of the instance. */
  tenant_id: TenantId;
  /** Instance id. */
  instance_id: InstanceId;
  /** The user who opened it. */
  user_id: UserId;
  /** The key that opened it. It may have been deleted since. */
  key_id: SshKeyId;
  /** Whether the key is the user's or the instance's. */
  key_owner: KeyOwner;
  /** Fingerprint of the key. */
  fingerprint: string;
  /** Address and port of the client, as this service saw them. */
  client_address: string;
  /** When it was opened. */
  started_at: Timestamp;
  /** When it ended, or null. */
  ended_at: Timestamp | null;
  /**
   * Why it ended: `disconnected`, `rights_ended`, `key_deleted`, `instance_not_running`, `tenant_not_active`,
   * `idle`, `service_stopped`, `service_lost`; null while it is open.
   */
  end_reason: string | null;
  /** Number of shells. Counted when the connection ends, as are the following. */
  shells: number;
  /** Number of commands. */
  commands: number;
  /** Number of file transfers (SFTP). */
  sftp: number;
  /** Number of forwarded connections. */
  forwards: number;
}

/** SSH session id: one connection to an instance. */
export type SshSessionId = string & { readonly __id: "SshSessionId" };

/** The stage of a key. */
export type Stage = "next" | "active" | "retiring" | "ended";

/** Units over time. */
export interface StockCapacity {
  /** Length of the steps. */
  step: CapacityStep;
  /** Beginning of the first step: the requested one, rounded down. */
  from: Timestamp;
  /** End of the last step. */
  to: Timestamp;
  /** One for each step, oldest first. */
  points: CapacityPoint[];
}

/** An addition to, or removal from, the stock. */
export interface StockChange {
  /** Name or id of the specification. */
  gpu_spec: string;
  /** Name or id of the datacenter. */
  datacenter: string;
  /** Number of units, 1 to 1000. */
  count: number;
}

/** Where the stock has changed. */
export interface StockChanged {
  /** The specification. */
  gpu_spec: GpuSpecRef;
  /** The datacenter. */
  datacenter: DatacenterRef;
}

/** An event of the stock. Administrators get the units and operations, others only that the stock has changed. */
export type StockEvent =
  | StockChanged & {
    type: "stock.changed";
  }
  | UnitChanged & {
    type: "unit.changed";
  }
  | UnitRemoved & {
    type: "unit.removed";
  }
  | OperationChanged & {
    type: "operation.changed";
  };

/** Not enough free units. */
export type StockInUseProblem = Problem & {
    type?: "https://atelier.dev/problems/stock-in-use";
    /** Units that are free now. */
    free?: number;
    /** Units that are idle now (Operator API). */
    available?: number;
  };

/** The stock of a specification in a datacenter. */
export interface StockRow {
  /** The specification. */
  gpu_spec: GpuSpec;
  /** The datacenter. */
  datacenter: DatacenterRef;
  /** Whether units can be claimed in the datacenter. */
  datacenter_state: DatacenterState;
  /** Units that can be claimed. */
  available: number;
  /** Number of these whose instances have interruptible claims and leave within seconds when the unit is claimed. */
  interruptible: number;
  /** Free units that interruptible claims do not get, because other claims are expected. */
  hold_back: number;
  /** Units that cannot be claimed now. */
  inactive: number;
  /** Units that instances have claimed, and keep. */
  used: number;
  /** Sum of the three. Units that are being created or removed do not count. */
  total: number;
  /** Price per hour, a decimal number. */
  price_per_hour: string;
  /** ISO 4217 code of the currency. */
  currency: string;
}

/** A unit of stock: one slot of a specification in a datacenter. */
export interface StockUnit {
  /** Unit id. */
  id: UnitId;
  /** Name of its `GpuUnit` in the cluster. */
  name: string;
  /** Specification of the unit. */
  gpu_spec: GpuSpecRef;
  /** Datacenter of the unit. */
  datacenter: DatacenterRef;
  /** State of the unit. */
  state: UnitState;
  reason: UnitReason | null;
  /** The reason in a sentence for a person, or null. */
  message: string | null;
  /** Node on which it holds its resources, or null. */
  node: string | null;
  /** UUIDs of its GPUs, where the cluster reports them. */
  gpu_uuids: string[];
  /** Time of the last change of state. */
  since: Timestamp;
  /** Time of the addition to stock. */
  created_at: Timestamp;
  holder: Holder | null;
}

/** A unit with its previous holders. */
export type StockUnitDetail = StockUnit & {
    /** Previous holders, newest first, at most 100. */
    history: PastHolder[];
  };

/** Who or what stopped the instance. */
export type StopCause = "user" | "administrator" | "tenant_suspended" | "budget_exhausted" | "idle" | "recalled" | "failure";

/** How an instance is stopped. */
export interface StopOptions {
  hold?: HoldRequest | null;
}

/** A storage: a volume or a bucket. */
export interface Storage {
  /** Storage id. */
  id: StorageId;
  /** Name, unique in the tenant. */
  name: string;
  /** Volume or bucket. */
  kind: StorageKind;
  /** The specification it was created from. */
  storage_spec: StorageSpecRef;
  /** Requested size in GiB. */
  size_gib: number;
  /** Actual size of a volume in GiB. Null until the cluster reports it, and for buckets. */
  capacity_gib: number | null;
  /** Current state. */
  state: StorageState;
  reason: StorageReason | null;
  /** The reason in a sentence for a person, or null. */
  message: string | null;
  /** Datacenter of a volume. Null for buckets. */
  datacenter: string | null;
  bucket: BucketAddress | null;
  /** Instances that use the storage. It cannot be deleted while there are any. */
  attachments: AttachmentRef[];
  /** The latest operation on the storage. */
  operation_id: OperationId;
  /** Price of one GiB for one month at the time of creation, as a decimal string. */
  price_per_gib_month: string;
  /** Currency of the price (ISO 4217). */
  currency: string;
  /** Time of creation. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
}

/** A storage and an instance. */
export interface StorageAttachment {
  /** When it happened. */
  time: Timestamp;
  /** The tenant of both. */
  tenant_id: TenantId;
  /** The storage. */
  storage_id: StorageId;
  /** The instance. */
  instance_id: InstanceId;
  /** How the instance uses it. */
  mode: AttachmentMode;
}

/** A change of a storage. Absent members stay as they are. */
export interface StorageChange {
  /** New name. */
  name?: string | null;
  /** New size in GiB, at least the current size. */
  size_gib?: number | null;
}

/** What happened to a storage of the tenant, or to an operation on one. */
export type StorageEvent =
  | StorageSnapshot & {
    type: "storage.created";
  }
  | StorageSnapshot & {
    type: "storage.changed";
  }
  | StorageSnapshot & {
    type: "storage.deleted";
  }
  | StorageAttachment & {
    type: "storage.attached";
  }
  | StorageAttachment & {
    type: "storage.detached";
  }
  | OperationChanged & {
    type: "operation.changed";
  };

/** Storage id: a volume or a bucket. */
export type StorageId = string & { readonly __id: "StorageId" };

/** Storage in use. */
export type StorageInUseProblem = Problem & {
    type?: "https://atelier.dev/problems/storage-in-use";
    /** Ids of the instances that use the storage. */
    instance_ids?: unknown[];
  };

/** Kind of storage. */
export type StorageKind = "volume" | "bucket";

/** Limits of a tenant, as an administrator has set them. Null is the limit that is configured for all tenants. */
export interface StorageLimits {
  /** Storages. */
  storages?: number | null;
  /** Sum of the sizes of all storages, in GiB. */
  gib?: number | null;
}

/** A storage specification from which storages can be created. */
export interface StorageOffer {
  /** Name of the specification. */
  name: string;
  /** Kind of its storages. */
  kind: StorageKind;
  /** Smallest size in GiB. */
  min_size_gib: number;
  /** Largest size in GiB. Equal to the smallest one if the size is fixed. */
  max_size_gib: number;
  /** Price of one GiB for one month, as a decimal string. */
  price_per_gib_month: string;
  /** Currency of the price (ISO 4217). */
  currency: string;
}

/** The limits of a tenant, and its current usage. */
export interface StorageQuota {
  /** The limits. */
  limits: EffectiveStorageLimits;
  /** Current usage. */
  used: StorageUsage;
}

/** Reason codes of storages. New codes may be added. */
export type StorageReason =
  | "volume_requested"
  | "volume_accepted"
  | "volume_pending"
  | "volume_growing"
  | "volume_failed"
  | "volume_lost"
  | "volume_deleting"
  | "cluster_unavailable"
  | "cluster_refused"
  | "bucket_emptying"
  | "bucket_lost"
  | "bucket_name_taken"
  | "object_store_unavailable"
  | "object_store_refused";

/** A storage at the time of the event. */
export interface StorageSnapshot {
  /** When it happened. */
  time: Timestamp;
  /** The tenant of the storage. */
  tenant_id: TenantId;
  /** The storage. */
  storage_id: StorageId;
  /** Its name. */
  name: string;
  /** Its kind. */
  kind: StorageKind;
  /** Its state. */
  state: StorageState;
  reason: StorageReason | null;
  /** The reason in a sentence for a person, or null. */
  message: string | null;
  /** Ordered size in GiB. */
  size_gib: number;
  /** Size of the volume in GiB, or null. */
  capacity_gib: number | null;
  /** The newest operation on it. */
  operation_id: OperationId;
}

/** A storage specification. */
export interface StorageSpec {
  /** Specification id. */
  id: StorageSpecId;
  /** Unique name. */
  name: string;
  /** Kind of its storages. */
  kind: StorageKind;
  /** Smallest size in GiB. */
  min_size_gib: number;
  /** Largest size in GiB. Equal to the smallest one if the size is fixed. */
  max_size_gib: number;
  /** Price of one GiB for one month, as a decimal string. */
  price_per_gib_month: string;
  /** Currency of the price (ISO 4217). */
  currency: string;
  /** Storage class of the cluster (volumes). Null for the default class. */
  storage_class: string | null;
  /** How many nodes can mount a volume. */
  access_mode: VolumeAccessMode;
  /** Whether new storages can be created. */
  state: StorageSpecState;
  /** Time of creation. */
  created_at: Timestamp;
  /** Time of the last change. */
  updated_at: Timestamp;
}

/** A change of a storage specification. Absent members stay as they are. Existing storages keep their price. */
export interface StorageSpecChange {
  /** Largest size in GiB; at least the smallest size. */
  max_size_gib?: number | null;
  /** Price of one GiB for one month, as a decimal string. */
  price_per_gib_month?: string | null;
  state?: StorageSpecState | null;
}

/** Storage specification id. */
export type StorageSpecId = string & { readonly __id: "StorageSpecId" };

/** A reference to a storage specification. */
export interface StorageSpecRef {
  /** Specification id. */
  id: StorageSpecId;
  /** Name of the specification. */
  name: string;
}

/** Whether new storages can be created from a specification. */
export type StorageSpecState = "active" | "retired";

/** State of a storage. */
export type StorageState = "pending" | "available" | "resizing" | "failed" | "deleting";

/** Usage of a tenant, or what a request adds to it. */
export interface StorageUsage {
  /** Storages, including those that are being deleted. */
  storages: number;
  /** Sum of their sizes in GiB. */
  gib: number;
}

/** An event of a service, or a notice of the stream. `type` says which. */
export type StreamEvent = Event | JobEvent | StorageEvent | StockEvent | StreamNotice;

/** A notice of the stream itself. It is the `data`; the name of the server-sent event is its `type`. */
export type StreamNotice =
  | /** The stream has begun. */ {
    /** The topics of the stream. */
    topics: Topic[];
    type: "stream.opened";
  }
  | /** Events of these topics may be missing before those that follow: read the lists again. */ {
    /** The topics. */
    topics: Topic[];
    /** Why. */
    reason: ResetReason;
    type: "stream.reset";
  }
  | /** The service of these topics does not answer. The gateway retries, and the other topics continue. */ {
    /** The topics. */
    topics: Topic[];
    type: "stream.away";
  }
  | /** The service answers again. Unless there is a `stream.reset`, the events of the meantime follow. */ {
    /** The topics. */
    topics: Topic[];
    type: "stream.back";
  };

/** A port of the container. */
export interface TemplatePort {
  /** Port number. */
  port: number;
  /** Protocol, `TCP` by default. */
  protocol?: PortProtocol;
  /**
   * What people open at this port, for example `Jupyter`: 1 to 100 characters. Instances of the service get a host name for each
   * TCP port with a title, unless their order names `public_ports`.
   */
  title?: string | null;
  /** Whether the instance's URL leads to this port. */
  is_public?: boolean;
  /** Whether the readiness probe connects to this port. */
  is_probe?: boolean;
  /** Path of the readiness probe's GET request. If empty, the probe only connects. */
  base_url?: string;
}

/** A tenant. */
export interface Tenant {
  /** Id of the tenant. */
  id: TenantId;
  /** Name of the tenant. Unique, ignoring case. */
  name: string;
  /** State of the tenant. */
  state: TenantState;
  /** Whether its suspension stops running instances, too. */
  stop_instances: boolean;
  /** When its storages are deleted, if the tenant is being deleted. */
  delete_storages_at: Timestamp | null;
  /** Progress of each service in applying the state; empty for a tenant that was never suspended. */
  steps: TenantStep[];
  /** When it was created. */
  created_at: Timestamp;
  /** When the tenant last changed. */
  updated_at: Timestamp;
}

/** A change of a tenant. Absent members stay unchanged. */
export interface TenantChange {
  /** A new name. */
  name?: string | null;
  state?: TenantState | null;
  /** Whether a suspension stops running instances, too. Instances that are starting are stopped in any case. */
  stop_instances?: boolean | null;
}

/** Tenant id. */
export type TenantId = string & { readonly __id: "TenantId" };

/** A reference to a tenant. */
export interface TenantRef {
  /** Id of the tenant. */
  id: TenantId;
  /** Name of the tenant. */
  name: string;
}

/** The state of a tenant. */
export type TenantState = "active" | "suspended" | "deleting";

/** Progress of a service in applying the state of a tenant. */
export interface TenantStep {
  /** Name of the service. */
  service: string;
  /** Whether nothing is left to do. */
  done: boolean;
  /** Objects that are still to be stopped or deleted, by kind, for example `instances`. */
  remaining: Record<string, number>;
  /** Why the service has not finished, in a sentence for a person, or null. */
  message: string | null;
}

/** Why a terminal has ended. */
export type TerminalEnd = "exited" | "disconnected" | "idle" | "rights_ended" | "service_stopped";

/** Terminal id: one command with a terminal in an instance. */
export type TerminalId = string & { readonly __id: "TerminalId" };

/** A one-time ticket that opens an instance in a browser. */
export interface Ticket {
  /**
   * URL to open in the browser: it signs in at the instance's host and redirects to its page. Null when the
   * request is repeated.
   */
  url: string | null;
  /** Time until which the ticket can be redeemed. */
  expires_at: Timestamp;
}

/** An expected time: its median, and a range that contains four of five expected times. */
export interface TimeRange {
  /** One of ten expected times is earlier. */
  p10: Timestamp;
  /** One of two expected times is earlier. */
  p50: Timestamp;
  /** Nine of ten expected times are earlier. Null if that is more than a day ahead. */
  p90: Timestamp | null;
}

/** A moment, as RFC 3339 writes it in UTC. */
export type Timestamp = string;

/** Too many API keys. */
export type TooManyApiKeysProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-api-keys";
    /** Keys that a user may have. */
    limit?: number;
  };

/** Too many failed attempts. */
export type TooManyAttemptsProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-attempts";
    /** Seconds until the next attempt is accepted. */
    retry_after?: number;
  };

/** Too many jobs. */
export type TooManyJobsProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-jobs";
    /** Jobs of a tenant that may be open at a time. */
    limit?: number;
  };

/** Too many credentials for the message broker. */
export type TooManyMqCredentialsProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-mq-credentials";
    /** Credentials that a tenant may have. */
    limit?: number;
  };

/** Too many operations in progress. */
export type TooManyOperationsProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-operations";
    /** Operations of this kind that may be in progress. */
    limit?: number;
    /** Operations of this kind that are in progress. */
    open?: number;
  };

/** Too many passkeys. */
export type TooManyPasskeysProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-passkeys";
    /** Passkeys that a user may have. */
    limit?: number;
  };

/** Too many registry credentials. */
export type TooManyRegistryCredentialsProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-registry-credentials";
    /** Credentials that a tenant may have. */
    limit?: number;
  };

/** Too many share links. */
export type TooManyShareLinksProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-share-links";
    /** Links that an instance may have. */
    limit?: number;
  };

/** Too many SSH keys. */
export type TooManySshKeysProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-ssh-keys";
    /** Keys that a user, or an instance, may have. */
    limit?: number;
  };

/** Too many open streams. */
export type TooManyStreamsProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-streams";
    /** Streams of this kind that the tenant may have open at a time. */
    limit?: number;
    /** Seconds to wait before the next attempt. */
    retry_after?: number;
  };

/** Too many webhooks. */
export type TooManyWebhooksProblem = Problem & {
    type?: "https://atelier.dev/problems/too-many-webhooks";
    /** Webhooks that a tenant may have. */
    limit?: number;
  };

/** A topic that clients follow. */
export type Topic = "instances" | "budgets" | "jobs" | "storages" | "stock" | "units" | "operations";

/** The second factor of the caller. */
export interface Totp {
  /** Whether sign-in with the password requires a code. */
  enabled: boolean;
  /** Since when, or null. */
  enabled_at: Timestamp | null;
  /** Recovery codes that have not been used. */
  recovery_codes_left: number;
}

/** A code of the authenticator app. */
export interface TotpCode {
  /** Six digits, or a recovery code. */
  code: string;
}

/** A secret for an authenticator app. */
export interface TotpSecret {
  /** The secret in base 32. Only in the first response; null otherwise. */
  secret: string | null;
  /** The same as a URL, for a QR code. Only in the first response; null otherwise. */
  url: string | null;
}

/** Why seconds of an attempt are not charged. */
export type UnchargedReason = "loading" | "failed" | "lost" | "preempted" | "recalled" | "max_cost" | "job_failed" | "no_price";

/** Unit of a metric's values. */
export type Unit = "percent" | "bytes" | "bytes_per_second" | "celsius" | "watts" | "cores" | "code";

/** A unit at the time of the event. */
export interface UnitChanged {
  /** When it happened. */
  time: Timestamp;
  /** The unit. */
  unit_id: UnitId;
  /** Its specification. */
  gpu_spec: GpuSpecRef;
  /** Its datacenter. */
  datacenter: DatacenterRef;
  /** Its state. */
  state: UnitState;
  reason: UnitReason | null;
}

/** Stock unit id. */
export type UnitId = string & { readonly __id: "UnitId" };

/** Unit in use. */
export type UnitInUseProblem = Problem & {
    type?: "https://atelier.dev/problems/unit-in-use";
    /** Instance that holds the unit, or null if one occupies it without a claim. */
    instance_id?: string;
  };

/** Why a unit does not hold its resources, has no object in its cluster, or failed in an operation. */
export type UnitReason =
  | "scheduling"
  | "unschedulable"
  | "node_lost"
  | "node_cordoned"
  | "preempted"
  | "place_lost"
  | "unsupported_allocation"
  | "invalid_spec"
  | "deleting"
  | "cluster_refused"
  | "cluster_unreachable"
  | "cluster_unknown"
  | "object_missing"
  | "adopted"
  | "occupied"
  | "not_in_time"
  | "removed"
  | "unknown";

/** A unit that does not exist any more. */
export interface UnitRemoved {
  /** When it happened. */
  time: Timestamp;
  /** The unit. */
  unit_id: UnitId;
  /** Its specification. */
  gpu_spec: GpuSpecRef;
  /** Its datacenter. */
  datacenter: DatacenterRef;
}

/** State of a unit. */
export type UnitState = "making" | "available" | "inactive" | "used" | "removing";

/** A file for jobs. */
export interface Upload {
  /** Upload id. */
  id: UploadId;
  /** Name of the file. */
  name: string;
  /** Media type. */
  content_type: string;
  /** Size in bytes. */
  bytes: number;
  /** SHA-256 as the client announced it, in hexadecimal, or null. */
  sha256: string | null;
  /** Current state. */
  state: UploadState;
  /**
   * It is deleted at this time, unless a job that has not ended uses it. Each job that is submitted with it
   * postpones this by a day.
   */
  expires_at: Timestamp;
  /** Time of creation. */
  created_at: Timestamp;
}

/** Id of a file that a user uploads for jobs. */
export type UploadId = string & { readonly __id: "UploadId" };

/** State of an upload. */
export type UploadState = "pending" | "ready";

/** A pool that runs jobs of a tenant, as the tenant sees it. */
export interface UsablePool {
  /** Pool id. */
  id: PoolId;
  /** The name by which a job may ask for it. */
  name: string;
  /** Names of the GPU specifications of its workers, in the order in which jobs prefer them. */
  gpu_specs: string[];
  /** Applications that its workers run. */
  applications: string[];
  /** Whether it runs jobs of one tenant only. */
  dedicated: boolean;
}

/** The usage of an instance. */
export interface Usage {
  /** Runs, newest first. */
  items: MeteredRun[];
  /** Send it as `cursor` to get the next page; null at the end. */
  next_cursor: string | null;
  /** Duration of all runs in which the instance was ready, not only of this page, in whole seconds. */
  total_seconds: number;
  /** Duration of all holds, not only of this page, in whole seconds. */
  held_seconds: number;
  /** Totals of all runs, not only of this page, by kind and currency. */
  totals: UsageTotal[];
}

/** Usage of a group in the window. Of runs that began before it or continued after it, only the part inside counts. */
export interface UsageGroup {
  /** Id of the instance or tenant, day in UTC (`2026-01-31`), name of the GPU specification, or `running` or `held`. */
  group: string;
  /** Duration of confirmed running in whole seconds. */
  running_seconds: number;
  /** Duration of holds in whole seconds. */
  held_seconds: number;
  /** Cost of both. The amounts of consecutive windows add up to the amounts of the runs. */
  amount: string;
  /** Currency (ISO 4217). */
  currency: string;
  /** How many of the runs have not ended; they count until now. */
  open_runs: number;
}

/** Kind of usage of a run. */
export type UsageKind = "running" | "held";

/** All runs of one kind, in one currency. */
export interface UsageTotal {
  /** What was used. */
  kind: UsageKind;
  /** Currency (ISO 4217). */
  currency: string;
  /** Duration in whole seconds. */
  seconds: number;
  /** Sum of the runs' amounts. */
  amount: string;
}

/** Usage of a tenant, or what an instance adds to it. */
export interface Use {
  /** Instances, stopped ones included. */
  instances: number;
  /** GPUs of instances that are not stopped, or hold their unit, by GPU model. */
  gpus: Record<string, number>;
  /** Price per hour of instances that are not stopped, or hold their unit, by currency (ISO 4217). */
  cost_per_hour: Record<string, string>;
}

/** A person who can sign in. */
export interface User {
  /** Id of the user. */
  id: UserId;
  /** E-mail address to sign in with. Unique, ignoring case and Unicode forms. */
  email: string;
  /** Name that others see. */
  display_name: string;
  /** Whether the user is a platform administrator. */
  admin: boolean;
  /** Whether the user cannot sign in. */
  disabled: boolean;
  /** When the user was created. */
  created_at: Timestamp;
  /** When the user last changed. */
  updated_at: Timestamp;
}

/** A change of a user. Absent members stay unchanged. */
export interface UserChange {
  /** A new name. */
  display_name?: string | null;
  /** Whether the user is a platform administrator. The last administrator must remain one. */
  admin?: boolean | null;
  /** `true` keeps the user from signing in and ends all sessions of the user. `false` allows sign-in again. */
  disabled?: boolean | null;
  /** A new password. It ends all sessions of the user. */
  password?: string | null;
}

/** User id. */
export type UserId = string & { readonly __id: "UserId" };

/** How many nodes can mount a volume at a time. */
export type VolumeAccessMode = "read_write_once" | "read_write_many";

/** What an instance waits for. */
export interface WaitingFor {
  /** GPU specification of the unit. */
  gpu_spec: GpuSpecRef;
  datacenter_id: DatacenterId | null;
}

/** An endpoint of the tenant. */
export interface Webhook {
  /** Webhook id. */
  id: WebhookId;
  /** Where messages are sent. */
  url: string;
  /** Types of events that are sent; all if empty. */
  events: JobEventType[];
  /** Whether events are sent. */
  enabled: boolean;
  problem: WebhookProblem | null;
  /** Until this time, messages are also signed with the previous secret; or null. */
  previous_secret_until: Timestamp | null;
  /** First failed attempt since the last success, or null. */
  failing_since: Timestamp | null;
  /** Approximate time when the last message was accepted, or null. */
  last_success_at: Timestamp | null;
  created_by: UserId | null;
  created_by_key: ApiKeyId | null;
  /** Time of creation. */
  created_at: Timestamp;
}

/** A change of a webhook. Absent members stay as they are. */
export interface WebhookChange {
  /** Where messages are sent. */
  url?: string | null;
  /** Types of events that are sent; all if empty. */
  events?: JobEventType[] | null;
  /** Whether events are sent. Messages that are due while it is false are cancelled. */
  enabled?: boolean | null;
}

/** A message to an endpoint. */
export interface WebhookDelivery {
  /** Delivery id. */
  id: DeliveryId;
  /** The webhook. */
  webhook_id: WebhookId;
  /** The header `webhook-id`: the `id` of the event. The same in each attempt. */
  message_id: string;
  /** Type of the event, or `webhook.test`. */
  type: string;
  /** Current state. */
  state: DeliveryState;
  /** Attempts, oldest first. */
  attempts: DeliveryAttempt[];
  /** When the next attempt is due, or null. */
  next_attempt_at: Timestamp | null;
  /** Time of creation. */
  created_at: Timestamp;
  /** When it was delivered or given up, or null. */
  ended_at: Timestamp | null;
}

/** Webhook id: an endpoint that events of jobs are sent to. */
export type WebhookId = string & { readonly __id: "WebhookId" };

/** Why the platform has disabled a webhook. */
export type WebhookProblem = "failing" | "gone" | "maker_ended";

/** A webhook with its new secret. */
export type WebhookWithSecret = Webhook & {
    /** Secret with which messages are signed. Sent once: null when the request is repeated. */
    secret: string | null;
  };

/** A worker: a unit that runs jobs. */
export interface Worker {
  /** Worker id. */
  id: WorkerId;
  /** Its pool. */
  pool_id: PoolId;
  /** Name, unique in the pool. */
  name: string;
  /** Name of its GPU specification. */
  gpu_spec: string;
  /** Name of its node. Empty while its instance has none; until then it gets no job. */
  node: string;
  instance_id: InstanceId | null;
  stage: WorkerStage | null;
  /** Whether it may keep its unit. */
  tenure: WorkerTenure;
  /** Time by which it leaves its unit, because another instance has claimed the unit; otherwise null. */
  leave_by: Timestamp | null;
  /** Current state. */
  state: WorkerState;
  job_id: JobId | null;
  /** Checkpoints that its engine has, or null if its process has not reported them. */
  checkpoints: string[] | null;
  /** Base models that its trainer has, or null if its process has not reported them. */
  base_models: string[] | null;
  /** Time of the last call of its process, or null. */
  last_seen_at: Timestamp | null;
  /** Time of creation. */
  created_at: Timestamp;
}

/** Worker id: a unit that runs jobs. */
export type WorkerId = string & { readonly __id: "WorkerId" };

/** Stage of a worker that the platform runs itself. */
export type WorkerStage = "ordered" | "placed" | "draining" | "leaving";

/** State of a worker. */
export type WorkerState = "offline" | "ready";

/** Whether a worker may keep its unit. */
export type WorkerTenure = "firm" | "lent";
