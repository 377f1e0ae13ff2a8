import { createFileRoute } from "@tanstack/react-router";
import type { PoolId } from "@/api/generated/types";

export const Route = createFileRoute("/_app/admin/pools/$id")({
  params: { parse: ({ id }) => ({ id: id as PoolId }), stringify: ({ id }) => ({ id }) },
  component: () => null,
});
