import { createFileRoute } from "@tanstack/react-router";
import { PoolsPage } from "@/features/platform/pools/page";
import { pools } from "@/features/platform/pools/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/admin/pools/")({
  beforeLoad: () => needWords("platform", "pools"),
  loader: ({ context: { client } }) => client.ensureInfiniteQueryData(pools),
  component: PoolsPage,
});
