import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getInstance, getStorage, updateInstance } from "@/api/generated/operations";
import type { Instance, Me, Storage } from "@/api/generated/types";
import { putInstance } from "@/api/instances/cache";
import { useAct } from "@/api/query";
import { putStorage } from "@/api/storages/cache";
import { whyNot } from "@/app/roles";
import { type Text, useText } from "@/i18n";
import { notify } from "@/ui/toast";

/** Why the storage cannot be taken off this instance now; false if it can. */
export function whyNotTakenOff(me: Me, it: Instance, t: Text): string | false {
  const role = whyNot(me, "instances.write", t);
  if (role) return role;
  if (it.managed_by) return t("storages.managedBy", { service: it.managed_by });
  return it.state !== "stopped" && t("storages.stopFirst", { name: it.name });
}

/** The stopped instance mounts it no longer from its next start on. */
export function useTakeOff(storage: Pick<Storage, "id" | "name">) {
  const { t } = useText();
  const client = useQueryClient();
  return useAct(
    async ({ id }: Pick<Instance, "id" | "name">, key) => {
      // the change carries the state that was read last
      const { storages } = await call(getInstance, { path: { id } });
      const left = storages.filter((one) => one.storage_id !== storage.id);
      putInstance(client, await call(updateInstance, { path: { id }, body: { storages: left } }, { key }));
      putStorage(client, await call(getStorage, { path: { id: storage.id } }));
    },
    {
      onDone: (_, { name }) =>
        notify({ title: t("storages.takenOff", { instance: name, name: storage.name }) }),
    },
  );
}
