import type { Upload } from "../../src/api/generated/types";
import { nextId } from "../ids.ts";
import { now } from "../times.ts";
import type { Handlers } from "../types.ts";
import { Refusal, Reply } from "../types.ts";
import { asMember } from "./as-member.ts";

const MIB = 1024 ** 2;
const DAY = 86_400_000;

export const uploadHandlers = {
  createUpload: (context) => {
    asMember(context);
    const { backend, body, caller } = context;
    const errors: { pointer: string; detail: string }[] = [];
    if (!["image/png", "image/jpeg"].includes(body.content_type))
      errors.push({ pointer: "/content_type", detail: "must be image/png or image/jpeg" });
    if (body.bytes < 1 || body.bytes > 32 * MIB)
      errors.push({ pointer: "/bytes", detail: "must be from 1 to 33554432" });
    if (body.name.includes("/") || new TextEncoder().encode(body.name).length > 100)
      errors.push({ pointer: "/name", detail: "must be at most 100 bytes, without /" });
    if (errors.length > 0) throw new Refusal("invalid-field", { errors });
    const { tenant_id } = caller.session;
    if (!tenant_id) throw new Refusal("forbidden");
    const upload: Upload = {
      id: nextId<Upload["id"]>(backend, "upl"),
      name: body.name,
      content_type: body.content_type,
      bytes: body.bytes,
      sha256: body.sha256 ?? null,
      state: "pending",
      expires_at: new Date(Date.now() + DAY).toISOString(),
      created_at: now(),
    };
    backend.uploads.push({ ...upload, tenant_id });
    return new Reply({ ...upload, put_url: `/mock/objects/${upload.id}` }, 201);
  },
  getUpload: ({ backend, caller, path }) => {
    const found = backend.uploads.find((it) => it.id === path.id);
    if (!found || found.tenant_id !== caller.session.tenant_id) throw new Refusal("not-found");
    const { tenant_id: _, ...upload } = found;
    return upload;
  },
} satisfies Partial<Handlers>;
