import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { datacenters, stock } from "@/api/catalogue";
import { platformHealth } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { DatacentersPage } from "@/features/datacenters/page";

export const Route = createFileRoute("/_app/admin/datacenters/")({
  validateSearch: z.object({ open: z.optional(z.catch(z.optional(z.enum(["new"])), undefined)) }),
  beforeLoad: needCatalogueWords,
  loader: async ({ context: { client } }) => {
    // it asks every replica: the page does not wait for it
    void client.prefetchQuery(platformHealth);
    await Promise.all([client.ensureQueryData(datacenters), client.ensureQueryData(stock)]);
  },
  component: DatacentersPage,
});
