import { getRouteApi } from "@tanstack/react-router";
import { useLoadedPages } from "@/api/query";
import { FilterBar } from "@/ui/filter-links";
import { SshRows } from "../parts/ssh-rows";
import { TenantFilter } from "../parts/tenant-filter";
import { sshSessions } from "./queries";

const route = getRouteApi("/_app/admin/instances/_list/ssh");

export function SshPage() {
  const { tenant } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(sshSessions({ tenant }));
  return (
    <>
      <FilterBar>
        <TenantFilter
          value={tenant}
          onChange={(next) => void navigate({ search: { tenant: next }, replace: true })}
        />
      </FilterBar>
      <SshRows
        items={list.data.pages.flatMap((page) => page.items)}
        withInstance
        isLoadingMore={list.isFetchingNextPage}
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      />
    </>
  );
}
