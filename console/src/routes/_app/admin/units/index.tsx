import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { datacenters, stock } from "@/api/catalogue";
import type { InstanceId, TenantId } from "@/api/generated/types";
import { everyGpuSpec, stockUnits, tenantNames } from "@/api/stock";
import { unitStates } from "@/domain/catalogue/unit-states";
import { UnitsPage } from "@/features/units/page";
import { needWords } from "@/i18n";

const word = z.optional(z.catch(z.optional(z.string()), undefined));

const id = <T extends string>() =>
  z.optional(
    z.pipe(
      z.string(),
      z.transform((text) => text as T),
    ),
  );

export const Route = createFileRoute("/_app/admin/units/")({
  validateSearch: z.object({
    gpu_spec: word,
    datacenter: word,
    state: z.optional(z.catch(z.optional(z.enum(unitStates)), undefined)),
    node: word,
    tenant_id: id<TenantId>(),
    instance_id: id<InstanceId>(),
  }),
  beforeLoad: () => needWords("stock"),
  loaderDeps: ({ search }) => search,
  loader: async ({ context: { client }, deps }) => {
    await Promise.all([
      client.ensureInfiniteQueryData(stockUnits(deps)),
      client.ensureQueryData(stock),
      client.ensureQueryData(everyGpuSpec),
      client.ensureQueryData(datacenters),
      client.ensureQueryData(tenantNames),
    ]);
  },
  component: UnitsPage,
});
