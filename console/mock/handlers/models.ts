import type { Deployment, Model, ModelId } from "../../src/api/generated/types";
import type { Backend } from "../backend.ts";
import { nextId } from "../ids.ts";
import { page, pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { type Context, Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";

/** How long a file takes onto a volume, in milliseconds. */
const DOWNLOAD = 1500;

const wrong = (pointer: string, detail: string) =>
  new Refusal("invalid-field", { errors: [{ pointer, detail }] });

function modelOf({ backend, caller }: Context, id: ModelId) {
  const found = backend.models.find((it) => it.id === id && it.tenant_id === caller.session.tenant_id);
  if (!found) throw new Refusal("not-found");
  return found;
}

const shown = ({ tenant_id: _, ...it }: Backend["models"][number]): Model => it;
const laid = ({ tenant_id: _, ...it }: Backend["deployments"][number]): Deployment => it;
const etag = (at: string) => ({ etag: `"${Date.parse(at)}"` });

/** The default path, by the rule of the API. */
function pathOf({ id, name }: Model): string {
  const plain = [...name].map((c) => (/[A-Za-z0-9_-]/.test(c) ? c : "-")).join("");
  const short = plain.slice(0, 60).replace(/^-+|-+$/g, "");
  return `models/Lora/${short}${short ? "-" : ""}${String(id).slice(-8)}.safetensors`;
}

export const modelHandlers = {
  listModels: ({ backend, caller, query }) =>
    pageOf(
      backend.models
        .filter((it) => it.tenant_id === caller.session.tenant_id)
        .toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
        .map(shown),
      query,
    ),
  getModel: (context) => {
    const model = modelOf(context, context.path.id);
    return new Reply(shown(model), 200, etag(model.updated_at));
  },
  updateModel: (context) => {
    asMember(context);
    const model = modelOf(context, context.path.id);
    const name = context.body.name.trim();
    if (!name || name.length > 100) throw wrong("/name", "must be 1 to 100 visible characters");
    Object.assign(model, { name, updated_at: now() });
    return new Reply(shown(model), 200, etag(model.updated_at));
  },
  deleteModel: (context) => {
    asMember(context);
    const { backend } = context;
    const { id } = modelOf(context, context.path.id);
    backend.models = backend.models.filter((it) => it.id !== id);
    backend.deployments = backend.deployments.filter((it) => it.model_id !== id);
    for (const kept of backend.jobs.kept) if (kept.it.model_id === id) kept.artifacts = [];
  },
  listBaseModels: ({ backend, query }) =>
    pageOf(
      backend.baseModels.filter(
        (it) => (!query.kind || it.kind === query.kind) && (!query.pool || it.pool === query.pool),
      ),
      query,
    ),
  listDeployments: (context) => {
    const { id } = modelOf(context, context.path.id);
    return page(
      context.backend.deployments
        .filter((it) => it.model_id === id)
        .toSorted((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at))
        .map(laid),
    );
  },
  createDeployment: (context) => {
    asMember(context);
    const { backend, body } = context;
    const model = modelOf(context, context.path.id);
    const volume = backend.storages.find(
      (it) => it.id === body.storage_id && it.tenant_id === model.tenant_id,
    );
    if (!volume) throw wrong("/storage_id", "storage not found");
    if (volume.kind === "bucket")
      throw wrong("/storage_id", "a bucket has no files that instances mount: choose a volume");
    const path = body.path ?? pathOf(model);
    if (!/[^/]\.safetensors$/.test(path)) throw wrong("/path", "must end in .safetensors");
    if (path.split("/").some((name) => name === "" || name === "." || name === ".."))
      throw wrong("/path", "must be a path below the root of the volume");
    const same = (it: Deployment) => it.storage_id === volume.id && it.path === path;
    if (backend.deployments.some((it) => same(it) && it.state === "pending"))
      throw new Refusal("deployment-in-progress");
    const deployment: Backend["deployments"][number] = {
      tenant_id: model.tenant_id,
      id: nextId<Deployment["id"]>(backend, "dpl"),
      model_id: model.id,
      storage_id: volume.id,
      path,
      state: "pending",
      reason: "downloading",
      message: null,
      created_at: now(),
      finished_at: null,
    };
    backend.deployments.push(deployment);
    setTimeout(() => {
      const isFull = volume.name === "texture-refs";
      Object.assign(deployment, {
        finished_at: now(),
        ...(isFull
          ? {
              state: "failed",
              reason: "volume_full",
              message: "No space is left on the volume: 0 of 20 GiB are free.",
            }
          : { state: "deployed", reason: null }),
      });
    }, DOWNLOAD);
    return new Reply(laid(deployment), 202);
  },
  deleteDeployment: (context) => {
    asMember(context);
    modelOf(context, context.path.id);
    const { backend, path } = context;
    if (!backend.deployments.some((it) => it.id === path.deployment_id)) throw new Refusal("not-found");
    backend.deployments = backend.deployments.filter((it) => it.id !== path.deployment_id);
  },
} satisfies Partial<Handlers>;
