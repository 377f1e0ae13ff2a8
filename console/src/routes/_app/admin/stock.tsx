import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import { stock } from "@/api/catalogue";
import { gpuSpec, stockOperations, stockRepairs } from "@/api/stock";
import { rowKey } from "@/domain/catalogue/stock";
import { StockPage } from "@/features/stock/page";
import { needWords } from "@/i18n";

const word = z.optional(z.catch(z.optional(z.string()), undefined));

export const Route = createFileRoute("/_app/admin/stock")({
  // `edit`: the row whose stock is updated, as `specification@datacenter`
  validateSearch: z.object({
    datacenter: word,
    name: word,
    edit: word,
    open: z.optional(z.catch(z.optional(z.enum(["create"])), undefined)),
  }),
  beforeLoad: () => needWords("stock"),
  loaderDeps: ({ search: { edit } }) => ({ edit }),
  loader: async ({ context: { client }, deps }) => {
    const [rows] = await Promise.all([
      client.ensureQueryData(stock),
      client.ensureInfiniteQueryData(stockOperations),
      client.ensureInfiniteQueryData(stockRepairs),
    ]);
    const edited = rows.find((row) => rowKey(row) === deps.edit);
    // its price and ETag as they are now
    if (edited) await client.fetchQuery({ ...gpuSpec(edited.gpu_spec.id), staleTime: 0 });
  },
  component: StockPage,
});
