import type {
  AdminAction,
  BudgetTerms,
  Instance,
  Limits,
  Member,
  Role,
  Tenant,
  TenantId,
  User,
  UserId,
} from "../src/api/generated/types";
import type { Account, Backend } from "./backend.ts";
import { firstKeys } from "./handlers/platform-health.ts";
import { makeId, makeSortedId } from "./ids.ts";
import type { Platform } from "./platform-data.ts";
import { firstPools, firstShares, firstWorkers } from "./pools-seed.ts";
import { type Draft, kept, storage } from "./studio-seed.ts";
import { daysAgo, hoursAgo } from "./times.ts";

interface TenantDraft {
  n: number;
  name: string;
  days: number;
  /** People by their first numbers in `names`; the first is the owner. */
  people: number;
  /** Running, stopped and storages. */
  has: [running: number, stopped: number, storages: number];
  /** Dollars since the month began, and the budget. */
  money: [spent: number, budget: number | null];
  gpus: number | null;
  mail: string;
}

const drafts: TenantDraft[] = [
  {
    n: 4,
    name: "Atlas Animation",
    days: 388,
    people: 9,
    has: [14, 6, 8],
    money: [6_412, 8_000],
    gpus: 40,
    mail: "atlas-animation.example",
  },
  {
    n: 5,
    name: "Brightwater Press",
    days: 301,
    people: 4,
    has: [2, 5, 3],
    money: [318, 500],
    gpus: 6,
    mail: "brightwater.example",
  },
  {
    n: 6,
    name: "Cinder & Co",
    days: 260,
    people: 6,
    has: [7, 3, 4],
    money: [2_940, 3_000],
    gpus: 16,
    mail: "cinder.example",
  },
  {
    n: 7,
    name: "Delft Illustration School",
    days: 212,
    people: 12,
    has: [9, 14, 6],
    money: [1_066, 1_200],
    gpus: 24,
    mail: "delft-illustration.example",
  },
  {
    n: 13,
    name: "Atelier Workers",
    days: 181,
    people: 0,
    has: [0, 0, 0],
    money: [3_870, null],
    gpus: 48,
    mail: "atelier.example",
  },
  {
    n: 8,
    name: "Emberline",
    days: 164,
    people: 3,
    has: [1, 2, 2],
    money: [94, null],
    gpus: null,
    mail: "emberline.example",
  },
  {
    n: 9,
    name: "Foxglove Studio",
    days: 120,
    people: 5,
    has: [3, 4, 3],
    money: [705, 900],
    gpus: 8,
    mail: "foxglove.example",
  },
  {
    n: 10,
    name: "Grainfield Labs",
    days: 96,
    people: 4,
    has: [0, 5, 2],
    money: [1_500, 1_500],
    gpus: 10,
    mail: "grainfield.example",
  },
  {
    n: 11,
    name: "Harbour Lights",
    days: 75,
    people: 2,
    has: [0, 0, 2],
    money: [12, null],
    gpus: 4,
    mail: "harbourlights.example",
  },
  {
    n: 12,
    name: "Ironwood VFX",
    days: 21,
    people: 8,
    has: [11, 2, 5],
    money: [4_180, 10_000],
    gpus: 64,
    mail: "ironwood.example",
  },
];

const given =
  "Adaeze Bruno Chiara Daniel Elif Farid Greta Haruto Ilse Jakub Kavya Leon Maren Nils Oksana Pedro Quinn Rania Stefan Thandi Ursula Viktor Wanda Xia Yusuf Zofia".split(
    " ",
  );
const family =
  "Achebe Bergström Costa Demir Eriksen Fontaine García Hoffmann Ito Jensen Kowalski Lambert Moreau Novák Olsen Petrov Rossi Sato Tanaka Umar Vidal Weiss Xu Yilmaz Zhang Keller Nowak".split(
    " ",
  );

const person = (n: number, mail: string): Account => {
  const first = given[(n * 7) % given.length] ?? "Ada";
  const last = family[(n * 5) % family.length] ?? "Byron";
  const plain = `${first}.${last}`
    .toLowerCase()
    .normalize("NFD")
    .replace(/[^a-z.]/g, "");
  return {
    user: {
      id: makeSortedId<UserId>("usr", daysAgo(300 - n), n),
      email: `${plain}@${mail}`,
      display_name: `${first} ${last}`,
      admin: n === 20,
      disabled: n === 31,
      created_at: daysAgo(300 - n),
      updated_at: daysAgo(60),
    },
    password: "northlight",
    totp: null,
    passkeys: [],
    linked: [],
    failures: 0,
    language: null,
  };
};

const roleOf = (i: number): Role => (i === 0 ? "owner" : i % 4 === 3 ? "viewer" : "member");

const memberOf = ({ user }: Account, i: number, days: number): Member => ({
  user_id: user.id,
  email: user.email,
  display_name: user.display_name,
  role: roleOf(i),
  created_at: daysAgo(days - i * 3),
  updated_at: daysAgo(days - i * 3),
});

const tenantOf = ({ n, name, days }: TenantDraft): Tenant => ({
  id: makeId<TenantId>("ten", n),
  name,
  state: "active",
  stop_instances: false,
  delete_storages_at: null,
  steps: [],
  created_at: daysAgo(days),
  updated_at: daysAgo(Math.min(days, 30)),
  ...(n === 10 && {
    state: "suspended" as const,
    stop_instances: true,
    updated_at: daysAgo(2),
    steps: ["gpu", "jobs", "storage"].map((service) => ({
      service,
      done: true,
      remaining: {},
      message: null,
    })),
  }),
  ...(n === 11 && {
    state: "deleting" as const,
    stop_instances: true,
    delete_storages_at: daysAgo(-4),
    updated_at: daysAgo(3),
    steps: [
      { service: "gpu", done: true, remaining: {}, message: null },
      { service: "jobs", done: true, remaining: {}, message: null },
      { service: "storage", done: false, remaining: { storages: 2 }, message: null },
    ],
  }),
});

const things =
  "lookdev turntable matte-paint storyboard concept-sheet texture-bake render-test layout previs keyframes crowd-sim character-lora".split(
    " ",
  );
const places = ["uk-1", "de-2", "us-1"] as const;

function instanceDraft(tenant: TenantDraft, i: number): Draft {
  const [running] = tenant.has;
  const place = places[(tenant.n + i) % 3] ?? "uk-1";
  const name = `${things[(tenant.n * 5 + i) % things.length]}-${(tenant.n * 3 + i) % 9}`;
  const spec = (tenant.n + i * 2) % 6;
  const node = `${place}-gpu-${String(((tenant.n * 2 + i) % 12) + 1).padStart(2, "0")}`;
  const days = 1 + ((tenant.n * 13 + i * 7) % 60);
  if (i >= running)
    return {
      name,
      spec,
      place,
      days,
      ...(tenant.n === 10 && {
        reason: "tenant_suspended" as Instance["reason"],
        message: "The tenant is suspended.",
      }),
    };
  const base = { name, spec, place, days, node };
  if (tenant.n === 6 && i === 0)
    return {
      ...base,
      state: "starting",
      reason: "image_pull_failed",
      message: "The image cannot be pulled yet.",
    };
  return { ...base, state: "running", started_at: hoursAgo(0.4 + ((tenant.n * 3 + i * 5) % 40)) };
}

const studioLimits: Limits = {
  instances: 20,
  gpus: 10,
  gpus_by_model: { "NVIDIA-H100-PCIe": 0 },
  cost_per_hour: { USD: "12.00" },
  own_images: false,
};

const terms = (amount: number): BudgetTerms => ({
  amount: `${amount}.00`,
  currency: "USD",
  warn_percents: [80],
  at_limit: "stop",
});

/** Thirteen tenants, sixty people: what the administrator of the platform sees beside Northlight Studio. */
export function platformSeed(northlight: TenantId, halden: TenantId, vesper: TenantId, mara: User) {
  let next = 7;
  const accounts: Account[] = [];
  const members = new Map<TenantId, Member[]>();
  for (const draft of drafts) {
    const own = Array.from({ length: draft.people }, () => person(++next, draft.mail));
    accounts.push(...own);
    members.set(
      makeId<TenantId>("ten", draft.n),
      own.map((it, i) => memberOf(it, i, draft.days)),
    );
  }
  const tenants = drafts.map(tenantOf);
  const instances = drafts.flatMap((draft) =>
    Array.from({ length: draft.has[0] + draft.has[1] }, (_, i) =>
      kept(1000 + draft.n * 40 + i, makeId<TenantId>("ten", draft.n), instanceDraft(draft, i)),
    ),
  );
  const storages = drafts.flatMap((draft) =>
    Array.from({ length: draft.has[2] }, (_, i) => {
      const place = i % 4 === 3 ? null : (places[(draft.n + i) % 3] ?? "uk-1");
      const size = 50 * (1 + ((draft.n * 3 + i * 5) % 12));
      const name = `${place ? "work" : "archive"}-${i + 1}`;
      return storage(100 + draft.n * 10 + i, makeId<TenantId>("ten", draft.n), name, place, size);
    }),
  );
  for (const it of storages.filter((_, i) => i % 3 === 0)) {
    const by = instances.find((one) => one.tenant_id === it.tenant_id && one.it.state === "running");
    if (by)
      it.attachments.push({
        instance_id: by.it.id,
        mode: "read_write",
        since: by.it.started_at ?? daysAgo(1),
      });
  }
  const limited = drafts.flatMap(({ n, gpus }): [TenantId, Limits][] =>
    gpus === null ? [] : [[makeId<TenantId>("ten", n), { instances: gpus * 3, gpus, own_images: n === 12 }]],
  );
  const budgeted = drafts.flatMap(({ n, money: [, amount] }): [TenantId, BudgetTerms][] =>
    amount === null ? [] : [[makeId<TenantId>("ten", n), terms(amount)]],
  );
  const pools = firstPools();
  const platform: Platform = {
    quotas: new Map([[northlight, studioLimits], ...limited]),
    storageQuotas: new Map([[makeId<TenantId>("ten", 12), { storages: 40, gib: 20_000 }]]),
    budgets: new Map([
      [northlight, terms(600)],
      [halden, { ...terms(250), warn_percents: [50, 80], at_limit: "notify" }],
      ...budgeted,
    ]),
    spent: new Map([
      [northlight, 18_740],
      [halden, 9_320],
      [vesper, 0],
      ...drafts.map(({ n, money: [spent] }) => [makeId<TenantId>("ten", n), spent * 100] as const),
    ]),
    generations: new Map(),
    actions: actionsOf(instances, mara),
    deletions: [],
    pools,
    workers: firstWorkers(pools),
    shares: firstShares(),
    signingKeys: firstKeys(),
    brokenAudit: false,
  };
  return { accounts, members, tenants, instances, storages, platform };
}

const actionsOf = (instances: Backend["instances"], mara: User): AdminAction[] => {
  const reasons = [
    "The node must be drained for a driver update. Start it again when you like.",
    "It ran without a request for nine days; agreed with you by e-mail on 20 November.",
  ];
  return instances
    .filter((kept) => kept.it.state === "stopped")
    .slice(0, reasons.length)
    .map(({ tenant_id, it }, i) => ({
      id: reasons.length - i,
      tenant_id,
      target: it.id,
      action: "stop_instance",
      reason: reasons[i] ?? "",
      user_id: mara.id,
      at: daysAgo(2 + i * 4),
    }));
};
