import { createFileRoute } from "@tanstack/react-router";
import { stock } from "@/api/catalogue";
import type { GpuSpecId } from "@/api/generated/types";
import { gpuSpec, gpuSpecPrices } from "@/api/stock";
import { needCatalogueWords } from "@/domain/catalogue/words";
import { SpecPage } from "@/features/gpu-specs/spec-page";

export const Route = createFileRoute("/_app/admin/gpu-specs/$id")({
  params: { parse: ({ id }) => ({ id: id as GpuSpecId }) },
  beforeLoad: needCatalogueWords,
  loader: async ({ context: { client }, params }) => {
    await Promise.all([
      client.ensureQueryData(gpuSpec(params.id)),
      client.ensureInfiniteQueryData(gpuSpecPrices(params.id)),
      client.ensureQueryData(stock),
    ]);
  },
  component: SpecPage,
});
