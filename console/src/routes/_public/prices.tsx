import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { offers, storageOffers } from "@/api/catalogue";
import { PricesPage } from "@/features/visitor/prices-page";

const word = z.optional(z.catch(z.optional(z.string()), undefined));
const number = z.optional(z.catch(z.optional(z.number()), undefined));

export const Route = createFileRoute("/_public/prices")({
  // an estimate can be sent as a link
  validateSearch: z.object({ gpu: word, hours: number, days: number, storage: word, gib: number }),
  loader: ({ context: { client } }) =>
    Promise.all([client.ensureQueryData(offers), client.ensureQueryData(storageOffers)]),
  component: PricesPage,
});
