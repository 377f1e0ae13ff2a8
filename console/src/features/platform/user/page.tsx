import { getRouteApi, Link } from "@tanstack/react-router";
import { Suspense } from "react";
import type { Membership } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { roleWord } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { Fact, Facts } from "@/ui/facts";
import { Empty, PageHead, Panel, Row, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { IdText } from "../parts/links";
import { tenantStanding } from "../parts/tenant-standing";
import { UserState } from "../users/page";
import { memberships, user } from "../users/queries";
import type { UserDialog } from "./dialog-names";
import { UserDialogs } from "./dialogs";

const route = getRouteApi("/_app/admin/users/$id");

export function UserPage() {
  const { t } = useText();
  const { day, list } = useFormat();
  const { id } = route.useParams();
  const { open } = route.useSearch();
  const navigate = route.useNavigate();
  const me = useMe();
  const it = useLoaded(user(id));
  const { items } = useLoaded(memberships(id));
  const isSelf = it.id === me.user.id;
  const show = (dialog: UserDialog | undefined) => void navigate({ search: { open: dialog }, replace: true });
  const owned = items.filter((one) => one.role === "owner").map((one) => one.tenant.name);
  return (
    <>
      <PageHead
        title={it.display_name}
        up={{ label: t("users.title"), link: { to: "/admin/users" } }}
        mark={<UserState it={it} />}
        actions={
          it.disabled ? (
            <Button onClick={() => show("enable")}>{t("users.enableDots")}</Button>
          ) : (
            <Button disabled={isSelf && t("users.notYourself")} onClick={() => show("disable")}>
              {t("users.disableDots")}
            </Button>
          )
        }
      >
        {items.length === 0
          ? t("users.noTenants")
          : owned.length > 0
            ? t("users.inTenantsOwner", { count: items.length, names: list(owned) })
            : t("users.inTenants", { count: items.length })}
      </PageHead>
      <Facts>
        <Fact label={t("users.email")}>{it.email}</Fact>
        <Fact label={t("users.rights")}>{it.admin ? t("nav.administrator") : t("users.noRights")}</Fact>
        <Fact label={t("platform.created")}>{day(it.created_at)}</Fact>
        <Fact label={t("platform.id")}>
          <IdText id={it.id} />
        </Fact>
      </Facts>
      <Section title={t("users.tenants")}>
        <Tenants items={items} />
      </Section>
      <Section title={t("users.account")}>
        <Panel>
          <Row title={t("users.name")} hint={it.display_name}>
            <Button small onClick={() => show("rename")}>
              {t("platform.changeDots")}
            </Button>
          </Row>
          <Row title={t("users.password")} hint={t("users.passwordEnds")}>
            <Button small onClick={() => show("password")}>
              {t("users.newPasswordDots")}
            </Button>
          </Row>
          <Row title={t("users.factor")} hint={t("users.factorHint")}>
            <Button small onClick={() => show("totp")}>
              {t("users.resetDots")}
            </Button>
          </Row>
          <Row title={t("users.passkeys")} hint={t("users.passkeysHint")}>
            <Button small onClick={() => show("passkeys")}>
              {t("users.deletePasskeysDots")}
            </Button>
          </Row>
          <Row title={t("users.administrator")} hint={t("users.adminHint")}>
            <Button small onClick={() => show("admin")}>
              {it.admin ? t("users.takeAdminDots") : t("users.giveAdminDots")}
            </Button>
          </Row>
          <Row title={t("users.deleteAccount")} hint={t("users.deleteHint")}>
            <Button small disabled={isSelf && t("users.notYourself")} onClick={() => show("delete")}>
              {t("users.deleteDots")}
            </Button>
          </Row>
        </Panel>
      </Section>
      <Suspense>
        {open && <UserDialogs it={it} owned={owned} open={open} onClose={() => show(undefined)} />}
      </Suspense>
    </>
  );
}

function Tenants({ items }: { items: readonly Membership[] }) {
  const { t } = useText();
  const name = (it: Membership) => (
    <Link
      to="/admin/tenants/$id"
      params={{ id: it.tenant.id }}
      className="block truncate font-medium hover:text-ultra hover:underline"
    >
      {it.tenant.name}
    </Link>
  );
  const state = (it: Membership) => {
    const { mark, word } = tenantStanding({ state: it.state, steps: [] });
    return <StateMark mark={mark}>{t(word)}</StateMark>;
  };
  const columns: Column<Membership>[] = [
    { key: "tenant", label: t("platform.tenant"), width: "minmax(12rem, 1fr)", cell: name },
    { key: "state", label: t("platform.state"), width: "10rem", cell: state },
    {
      key: "role",
      label: t("members.role"),
      width: "8rem",
      cell: (it) => <span className="text-sm">{roleWord(it.role, t)}</span>,
    },
  ];
  return (
    <Table
      label={t("users.tenants")}
      items={items}
      columns={columns}
      rowKey={(it) => it.tenant.id}
      rowHeight={36}
      empty={<Empty title={t("users.noTenants")}>{t("users.noTenantsHint")}</Empty>}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3">
          {name(it)}
          {state(it)}
          <span className="text-ink-3 text-xs">{roleWord(it.role, t)}</span>
        </div>
      )}
    />
  );
}
