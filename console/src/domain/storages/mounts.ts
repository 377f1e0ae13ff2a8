import type { AttachmentRef, Instance, Storage } from "@/api/generated/types";

/** An instance that has the storage, as far as the instance is known. */
export interface Mount {
  attachment: AttachmentRef;
  instance: Instance | undefined;
  /** Null of an instance that is not known. */
  path: string | null;
}

/** Who mounts it and where: those that run first. */
export function mountsOf(it: Pick<Storage, "id" | "attachments">, instances: readonly Instance[]): Mount[] {
  const rank = ({ instance }: Mount) => (instance?.state === "running" ? 0 : 1);
  return it.attachments
    .map((attachment): Mount => {
      const instance = instances.find((one) => one.id === attachment.instance_id);
      const path = instance?.storages.find((one) => one.storage_id === it.id)?.mount_path ?? null;
      return { attachment, instance, path };
    })
    .toSorted((a, b) => rank(a) - rank(b));
}
