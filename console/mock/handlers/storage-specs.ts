import type { StorageSpec } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { asAdmin, checkMatch, patch, withEtag } from "../match.ts";
import { pageOf } from "../page.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { Refusal } from "../types.ts";
import { found, isName, nameWrong, refuseWrong } from "./checks.ts";

export const storageSpecHandlers = {
  listStorageSpecs: ({ backend, query }) =>
    pageOf(
      backend.storageSpecs
        .filter((it) => !query.state || it.state === query.state)
        .filter((it) => !query.kind || it.kind === query.kind),
      query,
    ),
  getStorageSpec: ({ backend, path }) => withEtag(found(backend.storageSpecs, path.id)),
  createStorageSpec: (context) => {
    asAdmin(context);
    const { backend, body } = context;
    const { size_gib, ...rest } = body;
    const min = size_gib ?? body.min_size_gib ?? 0;
    const max = size_gib ?? body.max_size_gib ?? 0;
    refuseWrong([
      ["/name", !isName(body.name), nameWrong],
      ["/min_size_gib", min < 1 || min > max || max > 65_536, "sizes must be 1 ≤ smallest ≤ largest ≤ 65536"],
      ["/storage_class", Boolean(body.storage_class) && body.kind === "bucket", "is for volumes only"],
    ]);
    if (backend.storageSpecs.some((it) => it.name === body.name)) throw new Refusal("name-taken");
    const spec: StorageSpec = {
      ...rest,
      id: nextId(backend, "sspec"),
      min_size_gib: min,
      max_size_gib: max,
      storage_class: body.storage_class ?? null,
      access_mode: body.access_mode ?? "read_write_many",
      state: "active",
      created_at: now(),
      updated_at: now(),
    };
    backend.storageSpecs.push(spec);
    return withEtag(spec, 201);
  },
  updateStorageSpec: (context) => {
    asAdmin(context);
    const { backend, path, body } = context;
    const spec = found(backend.storageSpecs, path.id);
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
    const { backend, path } = context;
    if (backend.storages.some((it) => it.storage_spec.id === path.id))
      throw new Refusal("storage-spec-in-use", {
        detail: "A storage specification can be deleted when no storage uses it.",
      });
    backend.storageSpecs = backend.storageSpecs.filter((it) => it.id !== path.id);
  },
} satisfies Partial<Handlers>;
