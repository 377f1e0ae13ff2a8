import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { stock } from "@/api/catalogue";
import { everyGpuSpec } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { SpecsPage } from "@/features/gpu-specs/page";

export const Route = createFileRoute("/_app/admin/gpu-specs/")({
  validateSearch: z.object({
    name: z.optional(z.catch(z.optional(z.string()), undefined)),
    state: z.optional(z.catch(z.optional(z.enum(["active", "retired"])), undefined)),
  }),
  beforeLoad: needCatalogueWords,
  loader: async ({ context: { client } }) => {
    await Promise.all([client.ensureQueryData(everyGpuSpec), client.ensureQueryData(stock)]);
  },
  component: SpecsPage,
});
