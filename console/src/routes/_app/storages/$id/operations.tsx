import { createFileRoute, useParams } from "@tanstack/react-router";
import type { StorageId } from "@/api/generated/types";
import { storageOperations } from "@/api/storages/queries";
import { OperationsPage } from "@/features/storage/operations";

export const Route = createFileRoute("/_app/storages/$id/operations")({
  loader: ({ context, params }) =>
    context.client.ensureInfiniteQueryData(storageOperations(params.id as StorageId)),
  component: Operations,
});

function Operations() {
  return <OperationsPage id={useParams({ from: "/_app/storages/$id/operations" }).id as StorageId} />;
}
