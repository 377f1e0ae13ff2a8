import type { Storage } from "@/api/generated/types";

type Standing = Pick<Storage, "state" | "reason">;

/** The cluster has accepted the volume, and provisions it when an instance mounts it first. */
export const waitsForUse = (it: Standing) => it.state === "pending" && it.reason === "volume_accepted";

/** Whether an instance can mount it. */
export const isMountable = (it: Standing & Pick<Storage, "kind">) =>
  it.kind === "volume" && (it.state === "available" || it.state === "resizing" || waitsForUse(it));
