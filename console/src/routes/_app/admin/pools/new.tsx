import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { services, stock } from "@/api/catalogue";
import { everyGpuSpec } from "@/api/stock";
import { NewPoolPage } from "@/features/platform/pools/new-page";
import { everyPool } from "@/features/platform/pools/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/pools/new")({
  // `like`: as this one, but for its name
  validateSearch: z.object({ like: z.optional(z.catch(z.optional(z.string()), undefined)) }),
  beforeLoad: () => needWords("platform", "stock", "pools"),
  loader: async ({ context: { client } }) => {
    await Promise.all([
      client.ensureQueryData(everyGpuSpec),
      client.ensureQueryData(stock),
      client.ensureQueryData(services),
      client.ensureQueryData(everyPool),
    ]);
  },
  component: NewPoolPage,
});
