import { createFileRoute } from "@tanstack/react-router";
import type { StorageId } from "@/api/generated/types";
import { StoragePage } from "@/features/platform/storage/page";
import { storage, storageActions } from "@/features/platform/storages/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/storages/$id")({
  params: { parse: ({ id }) => ({ id: id as StorageId }), stringify: ({ id }) => ({ id }) },
  beforeLoad: () => needWords("platform", "fleet"),
  loader: async ({ context: { client }, params: { id } }) => {
    await Promise.all([
      client.ensureQueryData(storage(id)),
      client.ensureInfiniteQueryData(storageActions(id)),
    ]);
  },
  component: StoragePage,
});
