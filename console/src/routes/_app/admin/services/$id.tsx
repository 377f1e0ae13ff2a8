import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { ImageId } from "@/api/generated/types";
import { service } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { ServicePage } from "@/features/services/edit-page";

export const Route = createFileRoute("/_app/admin/services/$id")({
  params: { parse: ({ id }) => ({ id: id as ImageId }) },
  validateSearch: z.object({
    view: z.optional(z.catch(z.optional(z.enum(["fields", "json"])), undefined)),
  }),
  beforeLoad: needCatalogueWords,
  // with its ETag as it is now
  loader: ({ context: { client }, params }) => client.fetchQuery({ ...service(params.id), staleTime: 5_000 }),
  component: ServicePage,
});
