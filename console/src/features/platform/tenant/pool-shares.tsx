import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { TenantId } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Panel } from "@/ui/page";
import { poolShares } from "./queries";

/** What the tenant is entitled to in each pool. */
export function PoolSharesOf({ tenantId }: { tenantId: TenantId }) {
  const { t } = useText();
  const { data } = useQuery(poolShares(tenantId));
  if (!data) return null;
  const usable = data.filter(({ pool }) => !pool.dedicated || pool.tenant_id === tenantId);
  return (
    <Panel>
      {usable.length === 0 && <p className="px-4 py-3 text-ink-2 text-sm">{t("tenants.noPools")}</p>}
      <ul className="num text-sm">
        {usable.map(({ pool, share }) => (
          <li
            key={pool.id}
            className="flex min-h-9 items-center justify-between gap-4 border-line border-b px-4 py-1.5 last:border-b-0"
          >
            <Link
              to="/admin/pools/$id"
              params={{ id: pool.id }}
              className="font-medium hover:text-ultra hover:underline"
            >
              {pool.name}
            </Link>
            <span className={share ? undefined : "text-ink-3"}>
              {pool.dedicated
                ? t("tenants.ownPool")
                : share
                  ? t("tenants.share", { weight: share.weight ?? 100, guarantee: share.guarantee ?? 0 })
                  : t("tenants.defaultShare")}
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
