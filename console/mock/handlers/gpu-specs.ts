import type { GpuSpec, GpuSpecId, GpuSpecPatch, NewGpuSpec } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { asAdmin, checkMatch, patch, withEtag } from "../match.ts";
import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal } from "../types.ts";
import { found, hasUnits, isName, isPrice, nameWrong, priceWrong, refuseWrong } from "./checks.ts";

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

function setPrice({ backend }: Context, spec: GpuSpec) {
  const prices = backend.prices.get(spec.id) ?? [];
  if (prices[0]) prices[0].effective_until = now();
  const { price_per_hour, currency, hold_price_fraction } = spec;
  prices.unshift({
    price_per_hour,
    currency,
    hold_price_fraction,
    effective_from: now(),
    effective_until: null,
  });
  backend.prices.set(spec.id, prices);
  for (const row of backend.stock)
    if (row.gpu_spec.id === spec.id) Object.assign(row, { gpu_spec: spec, price_per_hour, currency });
}

function updateGpuSpec(context: Context & { path: { id: GpuSpecId }; body: GpuSpecPatch }) {
  asAdmin(context);
  const { backend, path, body } = context;
  const spec = found(backend.specs, path.id);
  checkMatch(context, spec);
  checkSpec({ ...spec, ...body } as NewGpuSpec);
  const reshapes = Object.keys(body).some((name) => !always.includes(name));
  if (reshapes && hasUnits(context, (row) => row.gpu_spec.id === spec.id))
    throw new Refusal("gpu-spec-in-use", {
      detail: "While a specification has units, only its price, currency and state can change.",
    });
  if (body.name && backend.specs.some((it) => it !== spec && it.name === body.name))
    throw new Refusal("name-taken");
  patch(spec, body);
  spec.summary = summaryOf(spec);
  if (body.price_per_hour || body.currency || body.hold_price_fraction !== undefined) setPrice(context, spec);
  return withEtag(spec);
}

export const gpuSpecHandlers = {
  listGpuSpecs: ({ backend, query }) =>
    pageOf(
      backend.specs
        .filter((it) => !query.state || it.state === query.state)
        .filter((it) => it.name.startsWith(query.name_prefix ?? "")),
      query,
    ),
  getGpuSpec: ({ backend, path }) => withEtag(found(backend.specs, path.id)),
  createGpuSpec: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    checkSpec(body);
    if (backend.specs.some((it) => it.name === body.name))
      throw new Refusal("name-taken", { detail: "A GPU specification with this name exists." });
    const spec: GpuSpec = {
      ...body,
      id: nextId(backend, "gspec"),
      hold_price_fraction: body.hold_price_fraction ?? null,
      node_selector: body.node_selector ?? {},
      state: "active",
      summary: summaryOf(body),
      created_at: now(),
      updated_at: now(),
    };
    backend.specs.push(spec);
    setPrice(context, spec);
    return withEtag(spec, 201);
  },
  updateGpuSpec,
  deleteGpuSpec: (context) => {
    asAdmin(context);
    const { backend, path } = context;
    if (hasUnits(context, (row) => row.gpu_spec.id === path.id)) throw new Refusal("gpu-spec-in-use");
    backend.specs = backend.specs.filter((it) => it.id !== path.id);
  },
  listGpuSpecPrices: ({ backend, path, query }) => pageOf(backend.prices.get(path.id) ?? [], query),
} satisfies Partial<Handlers>;
