import type { DeadMessage, MqCredential, TenantId, UserId } from "../src/api/generated/types";
import { makeSortedId } from "./ids.ts";
import { daysAgo, hoursAgo } from "./times.ts";

export interface QueueData {
  mqCredentials: (MqCredential & { tenant_id: TenantId })[];
  /** Refused messages, newest first. */
  dead: (DeadMessage & { tenant_id: TenantId })[];
}

export const BROKER = "amqps://mq.atelier.example:5671/%2f";

export const credentialOf = (
  tenant: TenantId,
  n: number,
  at: string,
  more: Pick<MqCredential, "name" | "created_by">,
): QueueData["mqCredentials"][number] => ({
  tenant_id: tenant,
  id: makeSortedId("mqc", at, n),
  secret: null,
  url: BROKER,
  exchange: "atelier.jobs",
  queue: `events.${tenant}`,
  created_by_key: null,
  created_at: at,
  ...more,
});

const txt2img = (prompt: string, more: object = {}) =>
  JSON.stringify({
    method: "stable-diffusion.txt2img",
    parameters: { checkpoint: "sdxl-1.0", prompt, width: 1024, height: 1024, steps: 28, ...more },
  });

type Draft = Pick<DeadMessage, "code" | "detail" | "body"> & Partial<DeadMessage> & { ago: number };

const drafts = (farm: string, old: string): Draft[] => [
  {
    ago: 0.4,
    code: "input-missing",
    detail: "upload upl_01939f0a7c3d7e6b8a1f4f0d5c2b1a00 has no content",
    body: JSON.stringify({
      method: "stable-diffusion.img2img",
      parameters: {
        checkpoint: "sdxl-1.0",
        prompt: "harbour at dawn, three boats, gouache",
        image: "upl_01939f0a7c3d7e6b8a1f4f0d5c2b1a00",
        strength: 0.55,
      },
    }),
    credential: farm,
  },
  {
    ago: 3.1,
    code: "invalid-parameters",
    detail: "parameters.steps must be from 1 to 150",
    body: txt2img("orchard tiles, top view, seamless", { steps: 400 }),
    credential: farm,
  },
  {
    ago: 3.2,
    code: "invalid-parameters",
    detail: "parameters.steps must be from 1 to 150",
    body: txt2img("orchard tiles, side view, seamless", { steps: 400 }),
    credential: farm,
    replayed_at: hoursAgo(2),
  },
  {
    ago: 9,
    code: "deadline-passed",
    detail: "the deadline is over",
    body: txt2img("foundry at night, rain, wide"),
    credential: farm,
  },
  {
    ago: 26,
    code: "unknown-method",
    detail: 'no application has "stable-diffusion.txt2image"',
    body: JSON.stringify({
      method: "stable-diffusion.txt2image",
      parameters: { prompt: "heroine, sheet 4" },
    }),
    credential: old,
  },
  {
    ago: 51,
    code: "too-large",
    detail: "a message has at most 524288 bytes",
    body: `${txt2img("contact sheet").slice(0, -2)},"init_images":["iVBORw0KGgoAAAANSUhEUgAABAAAAAQACAIAAADwf7zU`,
    bytes: 718_204,
    credential: old,
  },
  {
    ago: 190,
    code: "unauthenticated",
    detail: "the message has no user_id",
    body: txt2img("act 2 grove, fog"),
    credential: null,
    req_no: null,
    headers: { taskType: "GC" },
  },
];

/** Two programs that submit jobs, and what of theirs was refused. */
export function queueSeed(tenant: TenantId, { mira, tomas }: { mira: UserId; tomas: UserId }): QueueData {
  const farm = credentialOf(tenant, 1, daysAgo(64), { name: "render farm", created_by: mira });
  const old = credentialOf(tenant, 2, daysAgo(170), { name: "asset pipeline", created_by: null });
  const lab = credentialOf(tenant, 3, daysAgo(20), { name: "lighting lab", created_by: tomas });
  return {
    mqCredentials: [old, farm, lab],
    dead: drafts(farm.id, old.id).map(({ ago, ...draft }, i) => ({
      tenant_id: tenant,
      id: makeSortedId("dead", hoursAgo(ago), i),
      req_no: `3f2b1c7e-0f51-4c0e-9f0e-6a3f1c2d4b${String(i + 10)}`,
      credential: null,
      headers: { taskType: "GC", priority: 5, reqNo: `3f2b1c7e-0f51-4c0e-9f0e-6a3f1c2d4b${String(i + 10)}` },
      bytes: draft.body.length,
      created_at: hoursAgo(ago),
      replayed_at: null,
      ...draft,
    })),
  };
}
