import type {
  EnvVar,
  Instance,
  NewInstance,
  OnNodeLoss,
  ServiceImage,
  Storage,
  StorageSpec,
} from "@/api/generated/types";
import { isMountable } from "@/domain/storages/mountable";
import type { Key, PlainKey } from "@/i18n";
import type { Errors } from "@/lib/form";

/** What the form holds. Names are those of the API's fields, so that its refusals stand at them. */
export interface Draft {
  service: string;
  version: string;
  gpu_spec: string;
  storage: "new" | "existing" | "none";
  "new_storage.name": string;
  "new_storage.size_gib": string;
  "new_storage.storage_spec": string;
  storage_id: string;
  name: string;
  /** Empty: where there is room. */
  datacenter: string;
  idle: boolean;
  /** Minutes. */
  "idle_stop.after_seconds": string;
  on_node_loss: OnNodeLoss;
  env: Variable[];
  secrets: Variable[];
}

export interface Variable {
  /** For React. */
  key: string;
  name: string;
  value: string;
}

const SHORTEST_IDLE = 15;
const LONGEST_IDLE = 7 * 24 * 60;

/** Versions that new instances can use, the recommended one first. */
export const versionsOf = (services: readonly ServiceImage[], service: string) =>
  services
    .filter((it) => it.service === service && it.enabled && !it.deprecated)
    .toSorted((a, b) => Number(b.recommended) - Number(a.recommended));

export const serviceNames = (services: readonly ServiceImage[]) => [
  ...new Set(services.filter((it) => it.enabled && !it.deprecated).map((it) => it.service)),
];

/** The name with the first number at its end that is not taken. */
export function freeName(base: string, taken: readonly string[]): string {
  const [, stem = base] = /^(.*?)-?\d*$/.exec(base) ?? [];
  const lower = new Set(taken.map((it) => it.toLowerCase()));
  for (let n = 1; ; n++) {
    const name = `${stem}-${n}`;
    if (!lower.has(name.toLowerCase())) return name;
  }
}

/** `stable-diffusion-webui` is called `webui` by those who use it. */
const shortName = (service: string) => service.split("-").at(-1) ?? service;

export interface Known {
  services: readonly ServiceImage[];
  storages: readonly Storage[];
  storageSpecs: readonly StorageSpec[];
  instances: readonly Instance[];
}

/** Volumes that can be mounted. */
export const volumesOf = (storages: readonly Storage[]) => storages.filter(isMountable);

const namesOf = (items: readonly { name: string }[]) => items.map((it) => it.name);

interface Wanted {
  service?: string | undefined;
  /** Id of a volume to mount. */
  storage?: string | undefined;
}

/** The first draft: the recommended service, a new storage, an idle stop. */
export function emptyDraft(known: Known, wanted: Wanted = {}): Draft {
  const names = serviceNames(known.services);
  const recommended = known.services.find((it) => it.recommended && /webui/.test(it.service) && it.enabled);
  const service =
    (wanted.service && names.includes(wanted.service) ? wanted.service : recommended?.service) ??
    names[0] ??
    "";
  const name = freeName(shortName(service), namesOf(known.instances));
  const volumes = volumesOf(known.storages);
  const volume = volumes.find((it) => it.id === wanted.storage);
  return {
    service,
    version: versionsOf(known.services, service)[0]?.version ?? "",
    gpu_spec: "",
    storage: volume ? "existing" : "new",
    "new_storage.name": filesOf(name, known.storages),
    "new_storage.size_gib": "40",
    "new_storage.storage_spec": known.storageSpecs.find((it) => it.kind === "volume")?.name ?? "",
    storage_id: (volume ?? volumes[0])?.id ?? "",
    name,
    datacenter: "",
    idle: true,
    "idle_stop.after_seconds": "30",
    on_node_loss: "restart",
    env: [],
    secrets: [],
  };
}

export const filesOf = (name: string, storages: readonly Storage[]) => {
  const wanted = `${name}-files`;
  return namesOf(storages).includes(wanted) ? freeName(wanted, namesOf(storages)) : wanted;
};

/** As an instance was started, under a new name, on its storage. What is no longer there is left as it would be. */
export function draftLike(it: Instance, known: Known): Draft {
  const draft = emptyDraft(known, { service: it.service ?? undefined });
  const versions = versionsOf(known.services, draft.service);
  const storage = volumesOf(known.storages).find((one) => one.id === it.storage_id);
  const name = freeName(it.name, namesOf(known.instances));
  return {
    ...draft,
    version: versions.find((one) => one.version === it.version)?.version ?? draft.version,
    gpu_spec: it.gpu_spec.name,
    storage: storage ? "existing" : it.storage_id ? "new" : "none",
    storage_id: storage?.id ?? draft.storage_id,
    name,
    "new_storage.name": filesOf(name, known.storages),
    datacenter: storage ? "" : (it.datacenter ?? ""),
    idle: it.idle_stop !== null,
    "idle_stop.after_seconds": String(Math.round((it.idle_stop?.after_seconds ?? 1800) / 60)),
    on_node_loss: it.on_node_loss,
  };
}

/** The newest one that a person has ordered. */
export const lastOf = (instances: readonly Instance[]) =>
  instances.find((it) => !it.managed_by && it.service);

const filled = (variables: readonly Variable[]) => variables.filter((it) => it.name.trim() || it.value);
const asVars = (variables: readonly Variable[]): EnvVar[] =>
  filled(variables).map(({ name, value }) => ({ name: name.trim(), value }));

/** The request body. `place` is the default datacenter; `wait` queues it if there is no room. */
export function orderOf(draft: Draft, place: string | null, wait: boolean): NewInstance {
  const { storage } = draft;
  // a new volume is made somewhere: without one, any datacenter will do
  const datacenter = draft.datacenter || (storage === "new" ? place : null);
  const env = asVars(draft.env);
  const secrets = asVars(draft.secrets);
  return {
    name: draft.name.trim() || null,
    gpu_spec: draft.gpu_spec,
    service: draft.service,
    version: draft.version,
    ...(datacenter && storage !== "existing" && { datacenter }),
    ...(storage === "existing" && { storage_id: draft.storage_id as Storage["id"] }),
    ...(storage === "new" && {
      new_storage: {
        name: draft["new_storage.name"].trim(),
        storage_spec: draft["new_storage.storage_spec"],
        size_gib: Number(draft["new_storage.size_gib"]),
      },
    }),
    ...(env.length > 0 && { env }),
    ...(secrets.length > 0 && { secrets }),
    ...(draft.idle && { idle_stop: { after_seconds: Number(draft["idle_stop.after_seconds"]) * 60 } }),
    on_node_loss: draft.on_node_loss,
    ...(wait && { wait }),
  };
}

/** Secrets do not belong into the history of a shell. */
export const withoutSecrets = (order: NewInstance): NewInstance => ({
  ...order,
  ...(order.secrets && {
    secrets: order.secrets.map(({ name }) => ({ name, value: `VALUE OF ${name}` })),
  }),
});

/** What concerns price and room: texts are left out, so that typing asks nothing. */
export function quotedPart(order: NewInstance): NewInstance {
  const { gpu_spec, service, version, datacenter, storage_id } = order;
  return { gpu_spec, service, version, ...(datacenter && { datacenter }), ...(storage_id && { storage_id }) };
}

const whole = (text: string) => (/^\d{1,6}$/.test(text.trim()) ? Number(text) : Number.NaN);
const inside = (value: number, least: number, most: number) => value >= least && value <= most;

export type Missing = (
  key: PlainKey | [Extract<Key, "start.sizeWrong">, { min: number; max: number }],
) => string;

/** What is missing before anything is sent. */
export function missingOf(
  draft: Draft,
  storageSpec: StorageSpec | undefined,
  say: Missing,
): Errors<Draft> & Record<string, string | undefined> {
  const errors: Record<string, string | undefined> = {};
  if (!draft.gpu_spec) errors.gpu_spec = say("start.gpuMissing");
  if (draft.name.trim().length > 63) errors.name = say("start.nameLong");
  if (draft.storage === "new") {
    if (!draft["new_storage.name"].trim()) errors["new_storage.name"] = say("start.storageNameMissing");
    const [min, max] = [storageSpec?.min_size_gib ?? 1, storageSpec?.max_size_gib ?? 1];
    if (!inside(whole(draft["new_storage.size_gib"]), min, max))
      errors["new_storage.size_gib"] = say(["start.sizeWrong", { min, max }]);
  }
  if (draft.storage === "existing" && !draft.storage_id) errors.storage_id = say("start.storageMissing");
  if (draft.idle && !inside(whole(draft["idle_stop.after_seconds"]), SHORTEST_IDLE, LONGEST_IDLE))
    errors["idle_stop.after_seconds"] = say("start.idleWrong");
  for (const list of ["env", "secrets"] as const)
    for (const [i, { name, value }] of draft[list].entries())
      if ((name.trim() || value) && !/^[A-Za-z_]\w*$/.test(name.trim()))
        errors[`${list}.${i}.name`] = say("start.variableWrong");
  return errors as Errors<Draft> & Record<string, string | undefined>;
}
