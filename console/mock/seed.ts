import type { ApiKey, Member, Role, Tenant, TenantId, User, UserId } from "../src/api/generated/types";
import { activitySeed } from "./activity-seed.ts";
import type { Account, Backend } from "./backend.ts";
import { makeId } from "./ids.ts";
import { jobsSeed } from "./jobs/seed.ts";
import { modelsSeed } from "./models-seed.ts";
import { platformSeed } from "./platform-seed.ts";
import { queueSeed } from "./queue-seed.ts";
import { storagesSeed } from "./storages-seed.ts";
import { studioSeed } from "./studio-seed.ts";
import { daysAgo } from "./times.ts";
import { webhookSeed } from "./webhook-seed.ts";

const tenant = (n: number, name: string, state: Tenant["state"] = "active"): Tenant => ({
  id: makeId<TenantId>("ten", n),
  name,
  state,
  stop_instances: false,
  delete_storages_at: null,
  steps: [],
  created_at: daysAgo(400),
  updated_at: daysAgo(400),
});

const account = (n: number, name: string, email: string, more: Partial<User> = {}): Account => ({
  user: {
    id: makeId<UserId>("usr", n),
    email,
    display_name: name,
    admin: false,
    disabled: false,
    created_at: daysAgo(300 - n),
    updated_at: daysAgo(40),
    ...more,
  } as User,
  password: "northlight",
  totp: null,
  passkeys: [],
  linked: [],
  failures: 0,
  language: null,
});

const member = ({ user }: Account, role: Role, days: number): Member => ({
  user_id: user.id,
  email: user.email,
  display_name: user.display_name,
  role,
  created_at: daysAgo(days),
  updated_at: daysAgo(days),
});

const key = (n: number, user: User, in_: Tenant, more: Partial<ApiKey>): ApiKey => ({
  id: makeId("akey", n),
  name: "",
  user_id: user.id,
  tenant_id: in_.id,
  created_by_key: null,
  scopes: ["instances:read"],
  requests_per_second: null,
  hint: "atl_9fKq",
  secret: null,
  created_at: daysAgo(80),
  expires_at: null,
  last_used_at: null,
  last_used_from: null,
  ...more,
});

/** Northlight Studio: four people who make pictures, and what is around them. Everybody's password is `northlight`. */
export function makeBackend(): Backend {
  const northlight = tenant(1, "Northlight Studio");
  const halden = tenant(2, "Halden Games");
  const vesper = tenant(3, "Vesper Films");
  const mira = account(1, "Mira Okafor", "mira@northlight.studio");
  const tomas = account(2, "Tomas Reyl", "tomas@northlight.studio");
  const ines = account(3, "Ines Duarte", "ines@northlight.studio");
  const jonas = account(4, "Jonas Weber", "jonas@northlight.studio");
  const lena = account(5, "Lena Brandt", "lena@brandt.example");
  const mara = account(6, "Mara Lindqvist", "mara@atelier.example", { admin: true });
  const paul = account(7, "Paul Abara", "paul@northlight.studio", { disabled: true });
  tomas.totp = {
    enabled_at: daysAgo(21),
    secret: "JBSWY3DPEHPK3PXP",
    codes: ["7h2k-9qpl", "m4dx-2wvt", "c8rn-5jye"],
  };
  mira.passkeys = [
    {
      id: makeId("pk", 1),
      name: "MacBook",
      created_at: daysAgo(120),
      updated_at: daysAgo(120),
      last_used_at: daysAgo(1),
    },
    {
      id: makeId("pk", 2),
      name: "YubiKey, blue",
      created_at: daysAgo(90),
      updated_at: daysAgo(90),
      last_used_at: null,
    },
  ];
  mira.linked = [
    {
      id: makeId("acct", 1),
      provider: "studio",
      issuer: "https://login.northlight.example",
      subject: "mira.okafor",
      created_at: daysAgo(200),
      last_used_at: daysAgo(6),
    },
  ];
  const session = (n: number, user: User, more: Partial<Backend["sessions"][number]>) => ({
    id: makeId<Backend["sessions"][number]["id"]>("ses", n),
    user_id: user.id,
    secret: `other-${n}`,
    current: false,
    cookie: true,
    tenant_id: northlight.id,
    user_agent: null,
    address: "203.0.113.24",
    created_at: daysAgo(3),
    last_used_at: daysAgo(0.1),
    expires_at: daysAgo(-27),
    ...more,
  });
  const others = platformSeed(northlight.id, halden.id, vesper.id, mara.user);
  const studio = studioSeed(northlight.id, halden.id, mira.user.id);
  const storages = storagesSeed(northlight.id, studio, { mira: mira.user.id, tomas: tomas.user.id });
  const jobs = jobsSeed(
    northlight.id,
    Object.fromEntries(studio.specs.map((it) => [it.name, it.price_per_hour])),
  );
  return {
    accounts: [mira, tomas, ines, jonas, lena, mara, paul, ...others.accounts],
    tenants: [northlight, halden, vesper, ...others.tenants],
    members: new Map([
      ...others.members,
      [
        northlight.id,
        [
          member(mira, "owner", 299),
          member(tomas, "member", 210),
          member(ines, "member", 150),
          member(jonas, "viewer", 30),
        ],
      ],
      [halden.id, [member(mira, "viewer", 60)]],
      [vesper.id, []],
    ]),
    invitations: [
      {
        id: makeId("inv", 1),
        tenant_id: northlight.id,
        email: "noor@hasan.example",
        role: "member",
        invited_by: mira.user.id,
        created_at: daysAgo(2),
        expires_at: daysAgo(-12),
      },
      {
        id: makeId("inv", 2),
        tenant_id: vesper.id,
        email: lena.user.email,
        role: "member",
        invited_by: mara.user.id,
        created_at: daysAgo(1),
        expires_at: daysAgo(-13),
      },
      {
        id: makeId("inv", 3),
        tenant_id: vesper.id,
        email: jonas.user.email,
        role: "viewer",
        invited_by: mara.user.id,
        created_at: daysAgo(4),
        expires_at: daysAgo(-10),
      },
    ],
    sessions: [
      session(1, mira.user, {
        user_agent:
          "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1",
        address: "198.51.100.7",
        created_at: daysAgo(11),
        last_used_at: daysAgo(0.4),
      }),
      session(2, mira.user, {
        cookie: false,
        user_agent: "atelier-cli/0.9.2",
        address: "2001:db8:85a3::8a2e:370:7334",
        created_at: daysAgo(20),
        last_used_at: daysAgo(2.3),
      }),
    ],
    keys: [
      key(1, mira.user, northlight, {
        name: "render-farm",
        scopes: ["instances:write", "storages:read", "jobs:write"],
        requests_per_second: 20,
        last_used_at: daysAgo(0.02),
        last_used_from: "203.0.113.80",
        expires_at: daysAgo(-61),
      }),
      key(2, mira.user, northlight, {
        name: "cost report",
        scopes: ["usage:read", "instances:read"],
        hint: "atl_Tz4c",
        last_used_at: daysAgo(1.2),
        last_used_from: "203.0.113.24",
      }),
      key(3, mira.user, northlight, {
        name: "old notebook",
        scopes: ["storages:write"],
        hint: "atl_b0Rm",
        created_at: daysAgo(200),
        expires_at: daysAgo(5),
      }),
    ],
    providers: [{ id: "studio", name: "Northlight SSO", path: "/v1/sign-in/studio" }],
    ...webhookSeed(northlight.id, { mira: mira.user.id, tomas: tomas.user.id, gone: paul.user.id }),
    ...queueSeed(northlight.id, { mira: mira.user.id, tomas: tomas.user.id }),
    ...studio,
    ...storages,
    instances: [...studio.instances, ...others.instances],
    storages: [...storages.storages, ...others.storages],
    platform: others.platform,
    audit: activitySeed({
      ...studio,
      tenant: northlight.id,
      mira: mira.user.id,
      tomas: tomas.user.id,
      ines: ines.user.id,
    }),
    jobs,
    ...modelsSeed(northlight.id, jobs.kept, storages.storages),
    provoked: [],
    answered: new Map(),
    logs: new Set(),
    streams: new Set(),
    terminals: new Set(),
    next: 100,
  };
}
