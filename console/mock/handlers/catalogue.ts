import type {
  DatacenterId,
  DatacenterPatch,
  GpuSpec,
  GpuSpecId,
  GpuSpecPatch,
  NewGpuSpec,
  ServiceImage,
  ServiceTemplate,
  StockRow,
  StorageSpec,
  Use,
} from "../../src/api/generated/types";
import type { Handlers } from "../handlers.ts";
import { asAdmin, checkMatch, patch, withEtag } from "../match.ts";
import { pageOf } from "../page.ts";
import { templateErrors } from "../template-check.ts";
import { type Context, Refusal } from "../types.ts";
import { nextId, now, type World } from "../world.ts";

/** Whether it counts: those that are not stopped, or hold their unit. */
const counts = (kept: World["instances"][number]) => kept.it.state !== "stopped" || kept.it.hold !== null;

export function usedBy({ world, caller }: Context): Use {
  const own = world.instances.filter((kept) => kept.tenant_id === caller.session.tenant_id);
  const gpus: Record<string, number> = {};
  let cents = 0;
  for (const kept of own.filter(counts)) {
    const spec = world.specs.find((it) => it.id === kept.it.gpu_spec.id);
    if (!spec) continue;
    gpus[spec.gpu_model] = (gpus[spec.gpu_model] ?? 0) + spec.gpu_count;
    cents += Math.round(Number(kept.it.price_per_hour) * 100);
  }
  return { instances: own.length, gpus, cost_per_hour: { USD: (cents / 100).toFixed(2) } };
}

/** Units that instances hold, are held for, or are free. */
const hasUnits = ({ world }: Context, isOf: (row: StockRow) => boolean) =>
  world.stock.some((row) => isOf(row) && row.available + row.inactive + row.used > 0);

function found<Thing extends { id: string }>(items: readonly Thing[], id: string): Thing {
  const thing = items.find((it) => it.id === id);
  if (!thing) throw new Refusal("not-found");
  return thing;
}

const isName = (name: string) => /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
const isPrice = (price: string) => /^\d{1,7}(\.\d{1,6})?$/.test(price) && Number(price) <= 1_000_000;

function refuseWrong(wrong: [pointer: string, isWrong: boolean, detail: string][]) {
  const errors = wrong.filter(([, isWrong]) => isWrong).map(([pointer, , detail]) => ({ pointer, detail }));
  if (errors.length > 0) throw new Refusal("invalid-field", { errors });
}

const nameWrong =
  "must be a DNS label: 1 to 63 of a-z, 0-9 and `-`, beginning and ending with a letter or digit";
const priceWrong = "must be between 0 and 1000000, with at most 6 digits after the point";

const checkSpec = (spec: NewGpuSpec) =>
  refuseWrong([
    ["/name", !isName(spec.name), nameWrong],
    ["/gpu_model", !/^[\w.-]{1,63}$/.test(spec.gpu_model), "must be a label value"],
    ["/gpu_count", spec.gpu_count < 1 || spec.gpu_count > 64, "must be between 1 and 64"],
    ["/price_per_hour", !isPrice(spec.price_per_hour), priceWrong],
    [
      "/allocation/resource",
      "resource" in spec.allocation && !/^[a-z0-9.-]+\/[\w.-]+$/.test(spec.allocation.resource),
      "must be a resource's name, like nvidia.com/gpu",
    ],
  ]);

const summaryOf = (spec: NewGpuSpec) =>
  `${spec.gpu_count} GPU / ${spec.gpu_count} x ${spec.video_memory_mib / 1024}GB Video RAM / ${spec.cpu_millis / 1000} CPU / ${spec.memory_mib / 1024}GB Memory / ${spec.disk_gib}GB Temporary Storage`;

/** What may change while there are units. */
const always = ["price_per_hour", "currency", "hold_price_fraction", "state"];

function setPrice({ world }: Context, spec: GpuSpec) {
  const prices = world.prices.get(spec.id) ?? [];
  if (prices[0]) prices[0].effective_until = now();
  const { price_per_hour, currency, hold_price_fraction } = spec;
  prices.unshift({
    price_per_hour,
    currency,
    hold_price_fraction,
    effective_from: now(),
    effective_until: null,
  });
  world.prices.set(spec.id, prices);
  for (const row of world.stock)
    if (row.gpu_spec.id === spec.id) Object.assign(row, { gpu_spec: spec, price_per_hour, currency });
}

function updateGpuSpec(context: Context & { path: { id: GpuSpecId }; body: GpuSpecPatch }) {
  asAdmin(context);
  const { world, path, body } = context;
  const spec = found(world.specs, path.id);
  checkMatch(context, spec);
  checkSpec({ ...spec, ...body } as NewGpuSpec);
  const reshapes = Object.keys(body).some((name) => !always.includes(name));
  if (reshapes && hasUnits(context, (row) => row.gpu_spec.id === spec.id))
    throw new Refusal("gpu-spec-in-use", {
      detail: "While a specification has units, only its price, currency and state can change.",
    });
  if (body.name && world.specs.some((it) => it !== spec && it.name === body.name))
    throw new Refusal("name-taken");
  patch(spec, body);
  spec.summary = summaryOf(spec);
  if (body.price_per_hour || body.currency || body.hold_price_fraction !== undefined) setPrice(context, spec);
  return withEtag(spec);
}

function updateDatacenter(context: Context & { path: { id: DatacenterId }; body: DatacenterPatch }) {
  asAdmin(context);
  const { world, path, body } = context;
  const place = found(world.datacenters, path.id);
  checkMatch(context, place);
  refuseWrong([
    ["/name", Boolean(body.name && !isName(body.name)), nameWrong],
    ["/cluster", Boolean(body.cluster && !clusters.includes(body.cluster)), clusterWrong],
  ]);
  if ((body.name || body.cluster) && hasUnits(context, (row) => row.datacenter.id === place.id))
    throw new Refusal("datacenter-in-use", {
      detail: "While a datacenter has units, its name and cluster cannot change, and it cannot be deleted.",
    });
  patch(place, body);
  for (const row of world.stock) if (row.datacenter.id === place.id) row.datacenter_state = place.state;
  return withEtag(place);
}

/** Clusters of the service's configuration. */
const clusters = ["uk-1", "de-2", "us-1", "sg-1", "fr-1"];
const clusterWrong = "must be a cluster of the configuration";

const shown = ({ caller }: Context, image: ServiceImage): ServiceImage =>
  caller.user.admin
    ? image
    : {
        ...image,
        template: { ...image.template, env: image.template.env?.map(({ name }) => ({ name, value: "" })) },
      };

function refuseTemplate(template: ServiceTemplate | null | undefined) {
  const errors = template ? templateErrors(template) : [];
  if (errors.length > 0) throw new Refusal("invalid-field", { errors });
}

/** At most one version of a service is recommended. */
function recommendOnly({ world }: Context, image: ServiceImage) {
  if (!image.enabled || image.deprecated) image.recommended = false;
  if (!image.recommended) return;
  for (const other of world.services)
    if (other !== image && other.service === image.service) other.recommended = false;
}

export const catalogueHandlers = {
  listGpuSpecs: ({ world, query }) =>
    pageOf(
      world.specs
        .filter((it) => !query.state || it.state === query.state)
        .filter((it) => it.name.startsWith(query.name_prefix ?? "")),
      query,
    ),
  getGpuSpec: ({ world, path }) => withEtag(found(world.specs, path.id)),
  createGpuSpec: (context) => {
    asAdmin(context);
    const { world, body } = context;
    checkSpec(body);
    if (world.specs.some((it) => it.name === body.name))
      throw new Refusal("name-taken", { detail: "A GPU specification with this name exists." });
    const spec: GpuSpec = {
      ...body,
      id: nextId(world, "gspec"),
      hold_price_fraction: body.hold_price_fraction ?? null,
      node_selector: body.node_selector ?? {},
      state: "active",
      summary: summaryOf(body),
      created_at: now(),
      updated_at: now(),
    };
    world.specs.push(spec);
    setPrice(context, spec);
    return withEtag(spec, 201);
  },
  updateGpuSpec,
  deleteGpuSpec: (context) => {
    asAdmin(context);
    const { world, path } = context;
    if (hasUnits(context, (row) => row.gpu_spec.id === path.id)) throw new Refusal("gpu-spec-in-use");
    world.specs = world.specs.filter((it) => it.id !== path.id);
  },
  listGpuSpecPrices: ({ world, path, query }) => pageOf(world.prices.get(path.id) ?? [], query),
  listServices: (context) =>
    pageOf(
      context.world.services
        .filter((it) => it.enabled || context.caller.user.admin)
        .filter((it) => !context.query.service || it.service === context.query.service)
        .map((it) => shown(context, it)),
      context.query,
    ),
  getService: (context) => withEtag(shown(context, found(context.world.services, context.path.id))),
  createService: (context) => {
    asAdmin(context);
    const { world, body } = context;
    refuseWrong([
      [
        "/service",
        !/^[a-z0-9._-]{1,63}$/.test(body.service),
        "must be 1 to 63 of a-z, 0-9, `-`, `.` and `_`",
      ],
      [
        "/version",
        !/^[a-z0-9._-]{1,63}$/.test(body.version),
        "must be 1 to 63 of a-z, 0-9, `-`, `.` and `_`",
      ],
    ]);
    refuseTemplate(body.template);
    if (world.services.some((it) => it.service === body.service && it.version === body.version))
      throw new Refusal("service-version-exists");
    const image: ServiceImage = {
      id: nextId(world, "img"),
      service: body.service,
      version: body.version,
      description: body.description ?? "",
      descriptions: body.descriptions ?? {},
      icon_url: body.icon_url ?? null,
      links: body.links ?? [],
      template: body.template,
      enabled: body.enabled ?? true,
      recommended: body.recommended ?? false,
      deprecated: false,
      created_at: now(),
      updated_at: now(),
    };
    world.services.push(image);
    world.services.sort((a, b) => a.service.localeCompare(b.service) || a.version.localeCompare(b.version));
    recommendOnly(context, image);
    return withEtag(image, 201);
  },
  updateService: (context) => {
    asAdmin(context);
    const { world, path, body } = context;
    const image = found(world.services, path.id);
    checkMatch(context, image);
    refuseTemplate(body.template);
    patch(image, body);
    recommendOnly(context, image);
    return withEtag(image);
  },
  deleteService: (context) => {
    asAdmin(context);
    context.world.services = context.world.services.filter((it) => it.id !== context.path.id);
  },
  listDatacenters: ({ world, query }) => pageOf(world.datacenters, query),
  getDatacenter: ({ world, path }) => {
    const place = world.datacenters.find((it) => it.id === path.id || it.name === path.id);
    if (!place) throw new Refusal("not-found");
    return withEtag(place);
  },
  createDatacenter: (context) => {
    asAdmin(context);
    const { world, body } = context;
    refuseWrong([
      ["/name", !isName(body.name), nameWrong],
      ["/cluster", !clusters.includes(body.cluster), clusterWrong],
    ]);
    if (world.datacenters.some((it) => it.name === body.name)) throw new Refusal("name-taken");
    const place = {
      id: nextId<DatacenterId>(world, "dc"),
      name: body.name,
      region: body.region,
      cluster: body.cluster,
      labels: body.labels ?? {},
      state: "active" as const,
      created_at: now(),
      updated_at: now(),
    };
    world.datacenters.push(place);
    return withEtag(place, 201);
  },
  updateDatacenter,
  deleteDatacenter: (context) => {
    asAdmin(context);
    const { world, path } = context;
    if (hasUnits(context, (row) => row.datacenter.id === path.id)) throw new Refusal("datacenter-in-use");
    world.datacenters = world.datacenters.filter((it) => it.id !== path.id);
  },
  listStorageSpecs: ({ world, query }) =>
    pageOf(
      world.storageSpecs
        .filter((it) => !query.state || it.state === query.state)
        .filter((it) => !query.kind || it.kind === query.kind),
      query,
    ),
  getStorageSpec: ({ world, path }) => withEtag(found(world.storageSpecs, path.id)),
  createStorageSpec: (context) => {
    asAdmin(context);
    const { world, body } = context;
    const { size_gib, ...rest } = body;
    const min = size_gib ?? body.min_size_gib ?? 0;
    const max = size_gib ?? body.max_size_gib ?? 0;
    refuseWrong([
      ["/name", !isName(body.name), nameWrong],
      ["/min_size_gib", min < 1 || min > max || max > 65_536, "sizes must be 1 ≤ smallest ≤ largest ≤ 65536"],
      ["/storage_class", Boolean(body.storage_class) && body.kind === "bucket", "is for volumes only"],
    ]);
    if (world.storageSpecs.some((it) => it.name === body.name)) throw new Refusal("name-taken");
    const spec: StorageSpec = {
      ...rest,
      id: nextId(world, "sspec"),
      min_size_gib: min,
      max_size_gib: max,
      storage_class: body.storage_class ?? null,
      access_mode: body.access_mode ?? "read_write_many",
      state: "active",
      created_at: now(),
      updated_at: now(),
    };
    world.storageSpecs.push(spec);
    return withEtag(spec, 201);
  },
  updateStorageSpec: (context) => {
    asAdmin(context);
    const { world, path, body } = context;
    const spec = found(world.storageSpecs, path.id);
    checkMatch(context, spec);
    refuseWrong([
      [
        "/max_size_gib",
        Boolean(body.max_size_gib && body.max_size_gib < spec.min_size_gib),
        `must be between ${spec.min_size_gib} and 65536`,
      ],
    ]);
    patch(spec, body);
    return withEtag(spec);
  },
  deleteStorageSpec: (context) => {
    asAdmin(context);
    const { world, path } = context;
    if (world.storages.some((it) => it.storage_spec.id === path.id))
      throw new Refusal("storage-spec-in-use", {
        detail: "A storage specification can be deleted when no storage uses it.",
      });
    world.storageSpecs = world.storageSpecs.filter((it) => it.id !== path.id);
  },
  getQuota: (context) => ({ limits: context.world.limits, used: usedBy(context) }),
  getBudget: ({ world, caller }) => {
    if (!world.budget || world.tenants[0]?.id !== caller.session.tenant_id) throw new Refusal("not-found");
    return world.budget;
  },
} satisfies Partial<Handlers>;
