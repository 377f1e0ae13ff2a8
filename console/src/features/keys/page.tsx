import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { ApiKey } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Empty, PageHead } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { CreateKeyDialog } from "./create";
import { KeyMenu } from "./key-menu";
import { keys } from "./queries";
import { describeScopes } from "./scopes";
import { NewKeyDialog } from "./shown-once";

const route = getRouteApi("/_app/api-keys");

export function KeysPage() {
  const { t } = useText();
  const me = useMe();
  const { items } = useLoaded(keys);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [made, setMade] = useState<ApiKey | null>(null);
  const studio = me.memberships.find((it) => it.tenant.id === me.tenant_id)?.tenant.name ?? "";
  const show = (dialog: "create" | undefined) => void navigate({ search: { open: dialog }, replace: true });
  const create = (kind?: "primary") => (
    <Button kind={kind} onClick={() => show("create")}>
      <Plus className="size-4" aria-hidden="true" />
      {t("keys.create")}
    </Button>
  );
  return (
    <>
      <PageHead title={t("keys.title")} actions={create("primary")}>
        {items.length > 0 && t("keys.summary", { count: items.length, studio })}
      </PageHead>
      <Keys items={items} empty={<Empty title={t("keys.emptyTitle")}>{t("keys.emptyHint")}</Empty>} />
      <CreateKeyDialog
        open={search.open === "create"}
        onClose={() => show(undefined)}
        onDone={(key) => {
          show(undefined);
          setMade(key);
        }}
      />
      <NewKeyDialog made={made} onClose={() => setMade(null)} />
    </>
  );
}

function Keys({ items, empty }: { items: readonly ApiKey[]; empty: React.ReactNode }) {
  const { t, language } = useText();
  const now = useNow();
  const { day, relative } = useFormat();
  const name = (key: ApiKey) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium">{key.name}</span>
      <span className="block truncate font-mono text-ink-3 text-xs">{key.hint}…</span>
    </span>
  );
  const rights = (key: ApiKey) => (
    <span className="block text-ink-2 text-sm">
      {describeScopes(key.scopes, t, language)}
      {key.requests_per_second !== null && (
        <span className="num block text-ink-3 text-xs">
          {t("keys.limitOf", { count: key.requests_per_second })}
        </span>
      )}
    </span>
  );
  const used = (key: ApiKey) => (
    <span className="num block text-sm">
      {key.last_used_at ? (
        relative(key.last_used_at, now)
      ) : (
        <span className="text-ink-3">{t("keys.unused")}</span>
      )}
      {key.last_used_from && (
        <span className="block truncate text-ink-3 text-xs">
          {t("keys.usedFrom", { address: key.last_used_from })}
        </span>
      )}
    </span>
  );
  const expires = (key: ApiKey) => {
    if (!key.expires_at) return <span className="text-ink-3 text-sm">{t("keys.expiryNever")}</span>;
    const isOver = Date.parse(key.expires_at) < now;
    return (
      <span className="num block text-sm">
        {day(key.expires_at)}
        {isOver && <span className="block font-medium text-vermilion text-xs">{t("keys.expired")}</span>}
      </span>
    );
  };
  const columns: Column<ApiKey>[] = [
    { key: "name", label: t("keys.name"), width: "minmax(8rem, 1fr)", cell: name },
    { key: "scopes", label: t("keys.scopes"), width: "minmax(10rem, 1.6fr)", cell: rights },
    { key: "used", label: t("keys.used"), width: "9.5rem", cell: used },
    { key: "expires", label: t("keys.expires"), width: "7rem", cell: expires },
    {
      key: "actions",
      label: t("keys.delete"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (key) => <KeyMenu apiKey={key} />,
    },
  ];
  return (
    <Table
      label={t("keys.title")}
      items={items}
      columns={columns}
      rowKey={(key) => key.id}
      empty={empty}
      narrow={(key) => (
        <div className="space-y-2">
          <div className="flex items-start justify-between gap-3">
            {name(key)}
            <KeyMenu apiKey={key} />
          </div>
          {rights(key)}
          <div className="grid grid-cols-2 gap-3 text-xs">
            <span>
              <span className="block text-ink-3">{t("keys.used")}</span>
              {used(key)}
            </span>
            <span>
              <span className="block text-ink-3">{t("keys.expires")}</span>
              {expires(key)}
            </span>
          </div>
        </div>
      )}
    />
  );
}
