import type { AuditEntry, Event, TenantId, UserId } from "../src/api/generated/types";
import { type AuditLog, type AuditSource, append, auditSources } from "./audit.ts";
import type { Backend } from "./backend.ts";
import { makeId } from "./ids.ts";
import type { Kept } from "./kept.ts";
import { hoursAgo } from "./times.ts";

type Who = Pick<AuditEntry, "user_id" | "session_id" | "api_key_id" | "is_admin" | "service" | "address"> & {
  user_agent: string | null;
};
interface Draft {
  at: string;
  source: AuditSource;
  who: Who;
  operation: string;
  path: string;
  fields?: string[];
  created?: string;
  status?: number;
}

const nobody: Who = {
  user_id: null,
  session_id: null,
  api_key_id: null,
  is_admin: false,
  service: null,
  address: null,
  user_agent: null,
};

const firefox = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:145.0) Gecko/20100101 Firefox/145.0";
const chrome =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";

const person = (n: number, user_id: UserId, address: string, user_agent: string): Who => ({
  ...nobody,
  user_id,
  session_id: makeId("ses", 400 + n),
  address,
  user_agent,
});

interface Studio {
  tenant: TenantId;
  mira: UserId;
  tomas: UserId;
  ines: UserId;
  instances: readonly Kept[];
  events: readonly Event[];
  storages: Backend["storages"];
}

/** The logs of the services, as far as the studio remembers: what people, a key, a service and an administrator did. */
export function activitySeed(studio: Studio): AuditLog {
  const mira = person(1, studio.mira, "203.0.113.24", firefox);
  const tomas = person(2, studio.tomas, "198.51.100.61", chrome);
  const ines = person(3, studio.ines, "203.0.113.24", firefox);
  const farm: Who = {
    ...nobody,
    user_id: studio.mira,
    api_key_id: makeId("akey", 1),
    address: "203.0.113.80",
    user_agent: "atelier-cli/0.9.2",
  };
  const jobs: Who = { ...nobody, service: "jobs" };
  const operator: Who = {
    ...mira,
    user_id: makeId("usr", 6),
    session_id: makeId("ses", 490),
    is_admin: true,
  };
  const people = [mira, tomas, ines];
  const drafts = [
    ...instanceActs(studio, people, farm, jobs, operator),
    ...storageActs(studio, mira, tomas),
    ...signIns(people),
    ...memberActs(studio, mira, tomas),
    ...jobActs(mira, farm),
  ];
  const log: AuditLog = { people: [], instances: [], storages: [], jobs: [] };
  for (const source of auditSources)
    for (const draft of drafts
      .filter((it) => it.source === source)
      .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at)))
      append(log, source, studio.tenant, {
        ...draft.who,
        at: draft.at,
        operation: draft.operation,
        path: draft.path,
        created: draft.created ?? null,
        fields: draft.fields ?? [],
        status: draft.status ?? 200,
      });
  return log;
}

function instanceActs(
  { tenant, instances, events }: Studio,
  people: readonly Who[],
  farm: Who,
  jobs: Who,
  operator: Who,
): Draft[] {
  const own = instances.filter((kept) => kept.tenant_id === tenant);
  const verbs = new Map<Event["type"], "start" | "stop">([
    ["instance.start_requested", "start"],
    ["instance.stop_requested", "stop"],
  ]);
  const told = events.flatMap((event): Draft[] => {
    const index = own.findIndex(({ it }) => it.id === event.instance_id);
    const it = own[index]?.it;
    if (!it || event.actor.kind !== "user") return [];
    const base = {
      at: event.time,
      source: "instances" as const,
      who: people[index % people.length] ?? farm,
    };
    const verb = verbs.get(event.type);
    if (verb)
      return [
        {
          ...base,
          operation: `POST /v1/instances/{id}/${verb}`,
          path: `/v1/instances/${it.id}/${verb}`,
          status: 202,
        },
      ];
    if (event.type !== "instance.created") return [];
    return [
      {
        ...base,
        ...(it.managed_by
          ? {
              who: jobs,
              operation: "PUT /internal/v1/instances/{id}",
              path: `/internal/v1/instances/${it.id}`,
            }
          : {
              operation: "POST /v1/instances",
              path: "/v1/instances",
              fields: ["gpu_spec", "service", "version", "name", "storages"],
              created: `/v1/instances/${it.id}`,
              status: 202,
            }),
      },
    ];
  });
  const idle = own.find(({ it }) => it.idle_stop)?.it;
  const textures = own.find(({ it }) => it.reason === "image_pull_failed")?.it;
  return [
    ...told,
    ...(idle
      ? [
          {
            at: hoursAgo(7),
            source: "instances" as const,
            who: people[1] ?? farm,
            operation: "PATCH /v1/instances/{id}",
            path: `/v1/instances/${idle.id}`,
            fields: ["idle_stop"],
          },
          {
            at: hoursAgo(52),
            source: "instances" as const,
            who: people[0] ?? farm,
            operation: "POST /v1/instances/{id}/share-links",
            path: `/v1/instances/${idle.id}/share-links`,
            fields: ["expires_at", "port"],
            status: 201,
          },
        ]
      : []),
    ...(textures
      ? [
          {
            at: hoursAgo(30),
            source: "instances" as const,
            who: operator,
            operation: "POST /v1/platform-instances/{id}/stop",
            path: `/v1/platform-instances/${textures.id}/stop`,
            fields: ["reason"],
            status: 202,
          },
        ]
      : []),
  ];
}

function storageActs({ storages, tenant }: Studio, mira: Who, tomas: Who): Draft[] {
  const own = storages.filter((it) => it.tenant_id === tenant);
  const made = own.map(
    (it, i): Draft => ({
      at: hoursAgo(24 * 11 - i * 31),
      source: "storages",
      who: i % 2 ? tomas : mira,
      operation: "POST /v1/storages",
      path: "/v1/storages",
      fields: ["name", "storage_spec", "size_gib", "datacenter"],
      created: `/v1/storages/${it.id}`,
      status: 202,
    }),
  );
  const [first] = own;
  const last = own.at(-1);
  return [
    ...made,
    ...(first
      ? [
          {
            at: hoursAgo(26.4),
            source: "storages" as const,
            who: tomas,
            operation: "PATCH /v1/storages/{id}",
            path: `/v1/storages/${first.id}`,
            fields: ["size_gib"],
            status: 202,
          },
        ]
      : []),
    ...(last
      ? [
          {
            at: hoursAgo(21),
            source: "storages" as const,
            who: mira,
            operation: "POST /v1/storages/{id}/credentials",
            path: `/v1/storages/${last.id}/credentials`,
            status: 201,
          },
        ]
      : []),
  ];
}

const signIns = (people: readonly Who[]): Draft[] =>
  Array.from({ length: 14 }, (_, day) =>
    people.map(
      (who, i): Draft => ({
        at: hoursAgo(day * 24 + 5.2 + i * 1.7),
        source: "people",
        who,
        operation: i === 0 && day % 2 ? "POST /v1/sessions/passkey" : "POST /v1/sessions",
        path: i === 0 && day % 2 ? "/v1/sessions/passkey" : "/v1/sessions",
      }),
    ),
  ).flat();

function memberActs({ tenant, ines }: Studio, mira: Who, tomas: Who): Draft[] {
  const act = (
    hours: number,
    who: Who,
    operation: string,
    path: string,
    more: Partial<Draft> = {},
  ): Draft => ({
    at: hoursAgo(hours),
    source: "people",
    who,
    operation,
    path,
    ...more,
  });
  return [
    act(48, mira, "POST /v1/tenants/{id}/invitations", `/v1/tenants/${tenant}/invitations`, {
      fields: ["email", "role"],
      status: 201,
    }),
    act(77, mira, "PATCH /v1/tenants/{id}/members/{user_id}", `/v1/tenants/${tenant}/members/${ines}`, {
      fields: ["role"],
    }),
    act(98, mira, "POST /v1/api-keys", "/v1/api-keys", {
      fields: ["name", "scopes", "expires_at"],
      created: `/v1/api-keys/${makeId("akey", 2)}`,
      status: 201,
    }),
    act(171, tomas, "POST /v1/me/totp/start", "/v1/me/totp/start", { fields: ["code"] }),
  ];
}

function jobActs(mira: Who, farm: Who): Draft[] {
  const submitted = Array.from({ length: 60 }, (_, i): Draft => {
    const id = makeId("job", 700 + i);
    return {
      at: hoursAgo(0.4 + i * 2.3),
      source: "jobs",
      who: i % 7 === 3 ? mira : farm,
      operation: "POST /v1/jobs",
      path: "/v1/jobs",
      fields: ["application", "method", "params", "req_no"],
      created: `/v1/jobs/${id}`,
      status: 201,
    };
  });
  return [
    ...submitted,
    {
      at: hoursAgo(3.1),
      source: "jobs",
      who: mira,
      operation: "POST /v1/jobs/{id}/cancel",
      path: `/v1/jobs/${makeId("job", 701)}/cancel`,
    },
    {
      at: hoursAgo(60),
      source: "jobs",
      who: mira,
      operation: "POST /v1/webhooks",
      path: "/v1/webhooks",
      fields: ["url", "types"],
      created: `/v1/webhooks/${makeId("wh", 3)}`,
      status: 201,
    },
  ];
}
