import { createFileRoute } from "@tanstack/react-router";
import { stock } from "@/api/catalogue";
import type { GpuSpecId } from "@/api/generated/types";
import { gpuSpec } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { EditSpecPage } from "@/features/gpu-specs/edit-page";

export const Route = createFileRoute("/_app/admin/gpu-specs/$id_/edit")({
  params: { parse: ({ id }) => ({ id: id as GpuSpecId }) },
  beforeLoad: needCatalogueWords,
  loader: async ({ context: { client }, params }) => {
    await Promise.all([
      client.fetchQuery({ ...gpuSpec(params.id), staleTime: 0 }),
      client.ensureQueryData(stock),
    ]);
  },
  component: EditSpecPage,
});
