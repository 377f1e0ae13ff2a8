import { createFileRoute } from "@tanstack/react-router";
import { z } from "zod/mini";
import type { TenantId } from "@/api/generated/types";
import { logs } from "@/features/platform/audit/logs";
import { AuditPage } from "@/features/platform/audit/page";
import { entries } from "@/features/platform/audit/queries";
import { needWords } from "@/i18n";

const tenant = z.pipe(
  z.string(),
  z.transform((id) => id as TenantId),
);

export const Route = createFileRoute("/_app/admin/audit")({
  validateSearch: z.object({
    tenant: z.optional(tenant),
    log: z.optional(z.catch(z.optional(z.enum(logs)), undefined)),
  }),
  loaderDeps: ({ search }) => search,
  beforeLoad: () => needWords("platform", "audit"),
  loader: ({ context: { client }, deps }) => client.ensureInfiniteQueryData(entries(deps)),
  component: AuditPage,
});
