import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { services } from "@/api/catalogue";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { NewServicePage } from "@/features/services/new-page";

export const Route = createFileRoute("/_app/admin/services/new")({
  // `like`: the id of the version that it begins with
  validateSearch: z.object({
    like: z.optional(z.catch(z.optional(z.string()), undefined)),
    view: z.optional(z.catch(z.optional(z.enum(["fields", "json"])), undefined)),
  }),
  beforeLoad: needCatalogueWords,
  loader: ({ context: { client } }) => client.ensureQueryData(services),
  component: NewServicePage,
});
