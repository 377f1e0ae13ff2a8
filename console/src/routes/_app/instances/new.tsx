import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import {
  budget,
  datacenters,
  gpuSpecs,
  quota,
  services,
  stock,
  storageSpecs,
  storages,
} from "@/api/catalogue";
import { instances } from "@/api/instances/queries";
import { tenantOf } from "@/app/needs-tenant";
import { StartPage } from "@/features/start/page";

import { needWords } from "@/i18n";

const word = z.optional(z.catch(z.optional(z.string()), undefined));

export const Route = createFileRoute("/_app/instances/new")({
  // `like`: as this instance was started; `storage`: with this volume
  validateSearch: z.object({ like: word, gpu: word, service: word, storage: word }),
  beforeLoad: () => needWords("start"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    await Promise.all([
      client.ensureQueryData(services),
      client.ensureQueryData(gpuSpecs),
      client.fetchQuery(stock),
      client.ensureQueryData(datacenters),
      client.ensureQueryData(storages),
      client.ensureQueryData(storageSpecs),
      client.ensureQueryData(quota),
      client.ensureQueryData(budget),
      client.ensureInfiniteQueryData(instances()),
    ]);
  },
  component: StartPage,
});
