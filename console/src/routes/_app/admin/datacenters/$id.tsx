import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { capacityPeriodNames } from "@/api/capacity-periods";
import { stock } from "@/api/catalogue";
import type { DatacenterId } from "@/api/generated/types";
import { datacenter, isolation, platformHealth } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { DatacenterPage } from "@/features/datacenters/datacenter-page";

export const Route = createFileRoute("/_app/admin/datacenters/$id")({
  params: { parse: ({ id }) => ({ id: id as DatacenterId }) },
  validateSearch: z.object({
    open: z.optional(z.catch(z.optional(z.enum(["edit"])), undefined)),
    // of the chart
    period: z.optional(z.catch(z.optional(z.enum(capacityPeriodNames)), undefined)),
    gpu_spec: z.optional(z.catch(z.optional(z.string()), undefined)),
  }),
  beforeLoad: needCatalogueWords,
  loader: async ({ context: { client }, params }) => {
    void client.prefetchQuery(platformHealth);
    void client.prefetchQuery(isolation);
    await Promise.all([client.ensureQueryData(datacenter(params.id)), client.ensureQueryData(stock)]);
  },
  component: DatacenterPage,
});
