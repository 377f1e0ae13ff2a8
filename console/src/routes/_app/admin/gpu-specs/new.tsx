import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { everyGpuSpec } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { NewSpecPage } from "@/features/gpu-specs/new-page";

export const Route = createFileRoute("/_app/admin/gpu-specs/new")({
  // `like`: as this one, but for its name
  validateSearch: z.object({ like: z.optional(z.catch(z.optional(z.string()), undefined)) }),
  beforeLoad: needCatalogueWords,
  loader: ({ context: { client } }) => client.ensureQueryData(everyGpuSpec),
  component: NewSpecPage,
});
