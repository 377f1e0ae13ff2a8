import { getRouteApi, Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { asCurl } from "@/api/client";
import { createWebhook } from "@/api/generated/operations";
import type { Webhook, WebhookWithSecret } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Empty, PageHead } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { CreateWebhook } from "./create";
import { WebhookMenu } from "./menu";
import { webhooks } from "./queries";
import { WebhookSecret } from "./secret";
import { standingOf } from "./standing";
import { WebhookState } from "./state";

const route = getRouteApi("/_app/webhooks/");
const example = { body: { url: "https://example.com/atelier", events: ["job.succeeded" as const] } };

export function WebhooksPage() {
  const { t } = useText();
  const { items } = useLoaded(webhooks);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const reason = useWhyNot("webhooks.write");
  const [made, setMade] = useState<WebhookWithSecret | null>(null);
  const show = (open: "create" | undefined) => void navigate({ search: { open }, replace: true });
  const create = (kind?: "primary") => (
    <Button kind={kind} disabled={reason} onClick={() => show("create")}>
      <Plus className="size-4" aria-hidden="true" />
      {t("webhooks.create")}
    </Button>
  );
  return (
    <>
      <PageHead title={t("webhooks.title")} actions={create("primary")}>
        {items.length > 0 && <Summary items={items} />}
      </PageHead>
      <Webhooks
        items={items}
        empty={
          <>
            <Empty title={t("webhooks.emptyTitle")} actions={create()}>
              {t("webhooks.emptyHint")}
            </Empty>
            <div className="mx-auto max-w-160 px-4 pb-6">
              <CopyBox lines text={asCurl(createWebhook, example)} label={t("ui.copyAsCurl")} />
            </div>
          </>
        }
      />
      {search.open === "create" && !reason && (
        <CreateWebhook
          onClose={() => show(undefined)}
          onDone={(webhook) => {
            show(undefined);
            setMade(webhook);
          }}
        />
      )}
      <WebhookSecret
        made={made}
        onClose={() => {
          if (made) void navigate({ to: "/webhooks/$id", params: { id: made.id } });
          setMade(null);
        }}
      />
    </>
  );
}

function Summary({ items }: { items: readonly Webhook[] }) {
  const { t } = useText();
  const { list } = useFormat();
  const standings = items.map(standingOf);
  const count = (...of: ReturnType<typeof standingOf>[]) => standings.filter((it) => of.includes(it)).length;
  const [works, fails] = [count("works", "new"), count("fails")];
  const off = items.length - works - fails;
  const parts = [
    works > 0 && t("webhooks.summaryWorks", { count: works }),
    fails > 0 && t("webhooks.summaryFails", { count: fails }),
    off > 0 && t("webhooks.summaryOff", { count: off }),
  ].filter((it) => it !== false);
  return t("webhooks.summary", { count: items.length, parts: list(parts) });
}

function Webhooks({ items, empty }: { items: readonly Webhook[]; empty: React.ReactNode }) {
  const { t } = useText();
  const now = useNow();
  const { relative } = useFormat();
  const endpoint = (it: Webhook) => {
    const { host, pathname, search } = new URL(it.url);
    return (
      <Link to="/webhooks/$id" params={{ id: it.id }} className="group block min-w-0">
        <span className="block truncate font-medium group-hover:underline">{host}</span>
        <span className="block truncate font-mono text-ink-3 text-xs">
          {pathname}
          {search}
        </span>
      </Link>
    );
  };
  const events = ({ events: [first, ...more] }: Webhook) => (
    <span className="block text-ink-2 text-sm">
      {!first
        ? t("webhooks.allEvents")
        : more.length === 0
          ? first
          : more.length === 1
            ? `${first}, ${more[0]}`
            : t("webhooks.eventsMore", { first, count: more.length })}
    </span>
  );
  const accepted = (it: Webhook) => (
    <span className="num text-sm">
      {it.last_success_at ? (
        relative(it.last_success_at, now)
      ) : (
        <span className="text-ink-3">{t("webhooks.never")}</span>
      )}
    </span>
  );
  const columns: Column<Webhook>[] = [
    { key: "endpoint", label: t("webhooks.endpoint"), width: "minmax(12rem, 1.4fr)", cell: endpoint },
    { key: "events", label: t("webhooks.events"), width: "minmax(9rem, 1fr)", cell: events },
    {
      key: "state",
      label: t("webhooks.state"),
      width: "minmax(9rem, 1fr)",
      cell: (it) => <WebhookState it={it} />,
    },
    { key: "accepted", label: t("webhooks.accepted"), width: "8rem", cell: accepted },
    {
      key: "actions",
      label: t("webhooks.actions", { url: "" }),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (it) => <WebhookMenu it={it} />,
    },
  ];
  return (
    <Table
      label={t("webhooks.title")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      narrow={(it) => (
        <div className="space-y-2">
          <div className="flex items-start justify-between gap-3">
            {endpoint(it)}
            <WebhookMenu it={it} />
          </div>
          <WebhookState it={it} />
          <div className="flex flex-wrap justify-between gap-x-4 text-xs">
            {events(it)}
            <span className="text-ink-3 text-xs">
              {t("webhooks.accepted")}: {accepted(it)}
            </span>
          </div>
        </div>
      )}
    />
  );
}
