import type { DatacenterId, DatacenterPatch } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { asAdmin, checkMatch, patch, withEtag } from "../match.ts";
import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal } from "../types.ts";
import { found, hasUnits, isName, nameWrong, refuseWrong } from "./checks.ts";

function updateDatacenter(context: Context & { path: { id: DatacenterId }; body: DatacenterPatch }) {
  asAdmin(context);
  const { backend, path, body } = context;
  const place = found(backend.datacenters, path.id);
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
  for (const row of backend.stock) if (row.datacenter.id === place.id) row.datacenter_state = place.state;
  return withEtag(place);
}

/** Clusters of the service's configuration. */
const clusters = ["uk-1", "de-2", "us-1", "sg-1", "fr-1"];
const clusterWrong = "must be a cluster of the configuration";

export const datacenterHandlers = {
  listDatacenters: ({ backend, query }) => pageOf(backend.datacenters, query),
  getDatacenter: ({ backend, path }) => {
    const place = backend.datacenters.find((it) => it.id === path.id || it.name === path.id);
    if (!place) throw new Refusal("not-found");
    return withEtag(place);
  },
  createDatacenter: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    refuseWrong([
      ["/name", !isName(body.name), nameWrong],
      ["/cluster", !clusters.includes(body.cluster), clusterWrong],
    ]);
    if (backend.datacenters.some((it) => it.name === body.name)) throw new Refusal("name-taken");
    const place = {
      id: nextId<DatacenterId>(backend, "dc"),
      name: body.name,
      region: body.region,
      cluster: body.cluster,
      labels: body.labels ?? {},
      state: "active" as const,
      created_at: now(),
      updated_at: now(),
    };
    backend.datacenters.push(place);
    return withEtag(place, 201);
  },
  updateDatacenter,
  deleteDatacenter: (context) => {
    asAdmin(context);
    const { backend, path } = context;
    if (hasUnits(context, (row) => row.datacenter.id === path.id)) throw new Refusal("datacenter-in-use");
    backend.datacenters = backend.datacenters.filter((it) => it.id !== path.id);
  },
} satisfies Partial<Handlers>;
