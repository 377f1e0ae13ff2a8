import { getRouteApi, Link } from "@tanstack/react-router";
import { UserPlus } from "lucide-react";
import { lazy, Suspense } from "react";
import type { User } from "@/api/generated/types";
import { useLoadedPages } from "@/api/query";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { FilterBar } from "@/ui/filter-links";
import { Empty, PageHead } from "@/ui/page";
import { SearchField } from "@/ui/search-field";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { RowsFooter } from "../parts/rows-footer";
import { users } from "./queries";

const CreateUserDialog = lazy(() => import("./create"));

const route = getRouteApi("/_app/admin/users/");

export function UsersPage() {
  const { t } = useText();
  const { email, open } = route.useSearch();
  const navigate = route.useNavigate();
  const list = useLoadedPages(users(email));
  const items = list.data.pages.flatMap((page) => page.items);
  const show = (dialog: "create" | undefined) =>
    void navigate({ search: (now) => ({ ...now, open: dialog }), replace: true });
  return (
    <>
      <PageHead
        title={t("users.title")}
        actions={
          <Button kind="primary" onClick={() => show("create")}>
            <UserPlus className="size-4" aria-hidden="true" />
            {t("users.create")}
          </Button>
        }
      >
        <Sentence />
      </PageHead>
      <FilterBar>
        <SearchField
          label={t("users.search")}
          value={email ?? ""}
          onChange={(next) => void navigate({ search: { open, email: next || undefined }, replace: true })}
        />
      </FilterBar>
      <UserTable
        items={items}
        footer={
          <RowsFooter count={items.length} hasMore={list.hasNextPage} isLoading={list.isFetchingNextPage} />
        }
        onEnd={list.hasNextPage ? () => void list.fetchNextPage() : undefined}
      />
      <Suspense>{open === "create" && <CreateUserDialog onClose={() => show(undefined)} />}</Suspense>
    </>
  );
}

/** All users in numbers, whatever the filter shows. */
function Sentence() {
  const { t } = useText();
  const { sentences } = useFormat();
  const all = useLoadedPages(users());
  const items = all.data.pages.flatMap((page) => page.items);
  if (all.hasNextPage) return t("users.moreThan", { count: items.length });
  const admins = items.filter((it) => it.admin).length;
  const disabled = items.filter((it) => it.disabled).length;
  return sentences([
    t("users.summary", { count: items.length }),
    t("users.admins", { count: admins }),
    disabled > 0 && t("users.disabledCount", { count: disabled }),
  ]);
}

function UserTable({
  items,
  footer,
  onEnd,
}: {
  items: readonly User[];
  footer: React.ReactNode;
  onEnd: (() => void) | undefined;
}) {
  const { t } = useText();
  const { day } = useFormat();
  const me = useMe();
  const name = (it: User) => (
    <Link
      to="/admin/users/$id"
      params={{ id: it.id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {it.display_name}
      {it.id === me.user.id && <span className="ml-1.5 font-normal text-ink-3">{t("ui.you")}</span>}
    </Link>
  );
  const columns: Column<User>[] = [
    { key: "name", label: t("users.person"), width: "minmax(10rem, 1fr)", cell: name },
    {
      key: "email",
      label: t("users.email"),
      width: "minmax(14rem, 1.5fr)",
      cell: (it) => <span className="block truncate text-ink-2 text-sm">{it.email}</span>,
    },
    { key: "state", label: t("platform.state"), width: "8rem", cell: (it) => <UserState it={it} /> },
    {
      key: "admin",
      label: t("users.rights"),
      width: "9rem",
      cell: (it) => <span className="text-sm">{it.admin && t("nav.administrator")}</span>,
    },
    {
      key: "created",
      label: t("platform.created"),
      width: "7rem",
      end: true,
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.created_at)}</span>,
    },
  ];
  return (
    <Table
      label={t("users.title")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      rowHeight={36}
      footer={footer}
      onEnd={onEnd}
      empty={<Empty title={t("users.noneFound")}>{t("users.noneFoundHint")}</Empty>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 [&>:nth-child(even)]:justify-self-end">
          {name(it)}
          <UserState it={it} />
          <span className="truncate text-ink-3 text-xs">{it.email}</span>
          <span className="text-ink-2 text-xs">{it.admin && t("nav.administrator")}</span>
        </div>
      )}
    />
  );
}

export function UserState({ it }: { it: User }) {
  const { t } = useText();
  return (
    <StateMark mark={it.disabled ? "rests" : "runs"}>
      {it.disabled ? t("users.disabled") : t("users.enabled")}
    </StateMark>
  );
}
