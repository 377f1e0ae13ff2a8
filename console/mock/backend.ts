import type {
  ApiKey,
  BucketCredential,
  Budget,
  Datacenter,
  EffectiveStorageLimits,
  Event,
  GpuSpec,
  GpuSpecId,
  Invitation,
  Language,
  Limits,
  LinkedAccount,
  Member,
  Operation,
  Passkey,
  Price,
  RegistryCredential,
  Repair,
  ServiceImage,
  Session,
  SignInProvider,
  SshKey,
  StockRow,
  StockUnitDetail,
  Storage,
  StorageId,
  StorageSpec,
  StreamNotice,
  Tenant,
  TenantId,
  User,
  UserId,
} from "../src/api/generated/types";
import type { LiveEvent } from "../src/api/live";
import type { ProblemSlug } from "../src/api/problem";
import type { AuditLog } from "./audit.ts";
import type { JobsData } from "./jobs/data.ts";
import type { Kept } from "./kept.ts";
import type { ModelsData } from "./models-seed.ts";
import type { OperationName } from "./operations.ts";
import type { Platform } from "./platform-data.ts";
import type { QueueData } from "./queue-seed.ts";
import type { UsageData } from "./usage-seed.ts";
import type { WebhookData } from "./webhook-seed.ts";

export interface Account {
  user: User;
  password: string;
  totp: { enabled_at: string | null; secret: string; codes: string[] } | null;
  passkeys: Passkey[];
  linked: LinkedAccount[];
  /** Failed attempts since the last sign-in. */
  failures: number;
  language: Language | null;
}

export interface Provocation {
  operation: OperationName | "followAll";
  /** A refusal; without, only the delay. */
  slug?: ProblemSlug;
  retryAfter?: number;
  /** Milliseconds before the answer. */
  delay?: number;
  /** How often (default once). */
  times?: number;
}

export type StudioStorage = Storage & { tenant_id: TenantId };

/** The services that tell something. */
export type Source = "gpu" | "jobs" | "storage" | "stock";

export interface Stream {
  user_id: UserId;
  tenant_id: TenantId | null;
  tell: (source: Source, position: number, event: LiveEvent) => void;
  notice: (notice: StreamNotice) => void;
  end: () => void;
}

/** All that the stand-in knows. One per test, so that they do not disturb each other. */
export interface Backend extends UsageData, WebhookData, QueueData, ModelsData {
  accounts: Account[];
  tenants: Tenant[];
  members: Map<TenantId, Member[]>;
  invitations: (Invitation & { tenant_id: TenantId })[];
  sessions: (Session & { user_id: UserId; secret: string })[];
  keys: ApiKey[];
  providers: SignInProvider[];
  provoked: Provocation[];
  /** Answers by Idempotency-Key. */
  answered: Map<string, unknown>;
  specs: GpuSpec[];
  datacenters: Datacenter[];
  stock: StockRow[];
  /** As many as the rows of the stock say: see `settleUnits`. */
  units: StockUnitDetail[];
  /** Newest first. */
  stockOperations: Operation[];
  /** Newest first. */
  repairs: Repair[];
  /** Newest first. */
  prices: Map<GpuSpecId, Price[]>;
  services: ServiceImage[];
  storageSpecs: StorageSpec[];
  storages: StudioStorage[];
  storageLimits: EffectiveStorageLimits;
  /** Newest first. */
  storageOperations: (Operation & { tenant_id: TenantId })[];
  /** Access keys of buckets, oldest first. */
  bucketKeys: (BucketCredential & { storage_id: StorageId })[];
  registryCredentials: (RegistryCredential & { tenant_id: TenantId })[];
  /** Keys of people: those of an instance are with it. */
  sshKeys: SshKey[];
  instances: Kept[];
  limits: Limits;
  budget: Budget | null;
  events: Event[];
  platform: Platform;
  /** Newest first. */
  audit: AuditLog;
  jobs: JobsData;
  /** What ends each followed log. */
  logs: Set<() => void>;
  /** Open event streams. */
  streams: Set<Stream>;
  /** Lines of open terminals. */
  terminals: Set<{ destroy: () => unknown }>;
  next: number;
}
