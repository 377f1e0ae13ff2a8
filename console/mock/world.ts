import type {
  ApiKey,
  BucketCredential,
  Budget,
  Datacenter,
  EffectiveStorageLimits,
  Event,
  GpuSpec,
  GpuSpecId,
  Instance,
  Invitation,
  Language,
  Limits,
  LinkedAccount,
  Member,
  MeteredRun,
  NewInstance,
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
import type { JobsWorld } from "./jobs/world.ts";
import type { ModelsWorld } from "./models-seed.ts";
import type { Platform } from "./platform-world.ts";
import type { QueueWorld } from "./queue-seed.ts";
import type { OperationName } from "./types.ts";
import type { UsageWorld } from "./usage-seed.ts";
import type { WebhookWorld } from "./webhook-seed.ts";

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

/** An instance with what only the platform knows of it. */
export interface Kept {
  tenant_id: TenantId;
  it: Instance;
  order: NewInstance;
  /** Newest first. */
  runs: MeteredRun[];
  /** Grows with each start; what was planned for an earlier one does not happen. */
  attempt: number;
  /** Earlier operations: they have ended. */
  operations?: Instance["operation_id"][];
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
export interface World extends UsageWorld, WebhookWorld, QueueWorld, ModelsWorld {
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
  jobs: JobsWorld;
  /** What ends each followed log. */
  logs: Set<() => void>;
  /** Open event streams. */
  streams: Set<Stream>;
  /** Lines of open terminals. */
  terminals: Set<{ destroy: () => unknown }>;
  next: number;
}

/** Ids look as real ones do, and are the same at each start. */
export const makeId = <Id extends string>(prefix: string, n: number) =>
  `${prefix}_01939f0a7c3d7e6b8a1f${(n * 2654435761).toString(16).slice(-12).padStart(12, "0")}` as unknown as Id;

/** The same, in the order of creation, as ids of things in lists are. */
export const makeSortedId = <Id extends string>(prefix: string, at: string, n: number) =>
  `${prefix}_${Date.parse(at).toString(16).padStart(12, "0")}7e6b8a1f${(n * 2654435761).toString(16).slice(-12).padStart(12, "0")}` as unknown as Id;

export const nextId = <Id extends string>(world: World, prefix: string) => makeId<Id>(prefix, ++world.next);

const DAY = 86_400_000;
export const daysAgo = (days: number) => new Date(Date.now() - days * DAY).toISOString();
export const hoursAgo = (hours: number) => daysAgo(hours / 24);
export const now = () => new Date().toISOString();
