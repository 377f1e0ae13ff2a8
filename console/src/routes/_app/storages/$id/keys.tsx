import { createFileRoute, redirect, useParams } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { StorageId } from "@/api/generated/types";
import { bucketKeys, storage } from "@/api/storages/queries";
import { KeysPage } from "@/features/storage/keys/page";

export const Route = createFileRoute("/_app/storages/$id/keys")({
  validateSearch: z.object({
    program: z.optional(z.catch(z.optional(z.enum(["rclone", "aws", "s3cmd"])), undefined)),
    key: z.optional(z.catch(z.optional(z.enum(["new"])), undefined)),
  }),
  loader: async ({ context: { client }, params }) => {
    const id = params.id as StorageId;
    // only buckets have keys
    const { kind } = await client.ensureQueryData(storage(id));
    if (kind !== "bucket") throw redirect({ to: "/storages/$id", params: { id }, replace: true });
    await client.ensureQueryData(bucketKeys(id));
  },
  component: Keys,
});

function Keys() {
  return <KeysPage id={useParams({ from: "/_app/storages/$id/keys" }).id as StorageId} />;
}
