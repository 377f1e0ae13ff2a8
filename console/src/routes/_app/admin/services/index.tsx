import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { services } from "@/api/catalogue";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { ServicesPage } from "@/features/services/page";

export const Route = createFileRoute("/_app/admin/services/")({
  validateSearch: z.object({ name: z.optional(z.catch(z.optional(z.string()), undefined)) }),
  beforeLoad: needCatalogueWords,
  loader: ({ context: { client } }) => client.ensureQueryData(services),
  component: ServicesPage,
});
