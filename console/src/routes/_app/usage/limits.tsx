import { createFileRoute } from "@tanstack/react-router";
import { budget, quota } from "@/api/catalogue";
import { tenantOf } from "@/app/needs-tenant";
import { LimitsPage } from "@/features/usage/limits-page";
import { storageQuota } from "@/features/usage/queries";
import { needWords } from "@/i18n";

export const Route = createFileRoute("/_app/usage/limits")({
  beforeLoad: () => needWords("usage"),
  loader: async ({ context: { client, me } }) => {
    tenantOf(me);
    await Promise.all([
      client.ensureQueryData(budget),
      client.ensureQueryData(quota),
      client.ensureQueryData(storageQuota),
    ]);
  },
  component: LimitsPage,
});
