import type { Pool } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Fact, Facts } from "@/ui/facts";
import { TenantLink } from "../parts/links";

/** What a pool was created with, and keeps. */
export function PoolFacts({ it }: { it: Pool }) {
  const { t } = useText();
  return (
    <Facts>
      <Fact label={t("pools.specs")}>
        <span className="font-mono text-xs leading-5">{it.gpu_specs.join(", ")}</span>
      </Fact>
      <Fact label={t("pools.forWhom")}>
        {it.dedicated && it.tenant_id ? <TenantLink id={it.tenant_id} /> : t("platform.allTenants")}
      </Fact>
      <Fact label={t("pools.paidBy")}>{it.tenant_id ? <TenantLink id={it.tenant_id} /> : "–"}</Fact>
    </Facts>
  );
}
