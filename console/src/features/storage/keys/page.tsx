import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import type { BucketCredential, NewBucketCredential, StorageId } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { bucketKeys, storage } from "@/api/storages/queries";
import { useWhyNot } from "@/app/roles";
import { useMakerName } from "@/domain/maker";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyIconButton } from "@/ui/copy";
import { Empty, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { type Column, Table } from "@/ui/table";
import { ClientConfig } from "./client-config";
import { KeyMenu } from "./key-menu";
import { KeyMadeDialog, NewKeyDialog } from "./new-key";

const route = getRouteApi("/_app/storages/$id/keys");

export function KeysPage({ id }: { id: StorageId }) {
  const { t } = useText();
  const it = useLoaded(storage(id));
  const keys = useLoaded(bucketKeys(id));
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [made, setMade] = useState<NewBucketCredential | null>(null);
  const role = useWhyNot("storages.write");
  const reason = role || (!it.bucket && t("storages.notAvailableYet"));
  const show = (key: "new" | undefined) =>
    void navigate({ search: (old) => ({ ...old, key }), replace: true });
  const newest = keys.at(-1);
  return (
    <>
      <Section
        title={t("storages.s3Keys")}
        hint={t("storages.keysHint")}
        actions={
          <Button kind="primary" disabled={reason} onClick={() => show("new")}>
            <Plus className="size-4" aria-hidden="true" />
            {t("storages.newKey")}
          </Button>
        }
      >
        <Keys storage={id} items={keys} />
      </Section>
      {it.bucket && (
        <Section title={t("storages.config")} hint={t("storages.configHint")}>
          <div className="max-w-176">
            <ClientConfig
              bucket={it.bucket}
              credentials={{ id: newest?.access_key_id ?? "ACCESS_KEY_ID", secret: "SECRET_ACCESS_KEY" }}
              program={search.program ?? "rclone"}
              onProgram={(program) =>
                void navigate({ search: (old) => ({ ...old, program }), replace: true })
              }
            />
          </div>
        </Section>
      )}
      {search.key && !reason && (
        <NewKeyDialog
          id={id}
          onClose={() => show(undefined)}
          onMade={(key) => {
            show(undefined);
            setMade(key);
          }}
        />
      )}
      {made && <KeyMadeDialog made={made} onClose={() => setMade(null)} />}
    </>
  );
}

const states = {
  making: { mark: "moves", word: "storages.keyMaking" },
  active: { mark: "runs", word: "storages.keyActive" },
  removing: { mark: "moves", word: "storages.keyRemoving" },
} as const;

function Keys({ storage, items }: { storage: StorageId; items: readonly BucketCredential[] }) {
  const { t } = useText();
  const { day } = useFormat();
  const makerOf = useMakerName();
  const name = (key: BucketCredential) => (
    <span className="flex min-w-0 items-center gap-1">
      <code className="min-w-0 truncate font-mono text-xs">{key.access_key_id}</code>
      <CopyIconButton text={key.access_key_id} label={t("storages.copyOf", { name: key.access_key_id })} />
    </span>
  );
  const state = (key: BucketCredential) => (
    <StateMark mark={states[key.state].mark}>{t(states[key.state].word)}</StateMark>
  );
  const columns: Column<BucketCredential>[] = [
    { key: "id", label: t("storages.keyId"), width: "minmax(13rem, 1.2fr)", cell: name },
    { key: "state", label: t("storages.state"), width: "8rem", cell: state },
    {
      key: "maker",
      label: t("storages.madeBy"),
      width: "minmax(9rem, 1fr)",
      cell: (key) => <span className="block truncate text-sm">{makerOf(key)}</span>,
    },
    {
      key: "made",
      label: t("storages.madeOn"),
      width: "7rem",
      cell: (key) => <span className="num text-ink-2 text-sm">{day(key.created_at)}</span>,
    },
    {
      key: "actions",
      label: t("storages.actions"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: (key) => <KeyMenu storage={storage} credential={key} />,
    },
  ];
  return (
    <Table
      label={t("storages.s3Keys")}
      items={items}
      columns={columns}
      rowKey={(key) => key.access_key_id}
      rowHeight={44}
      empty={<Empty title={t("storages.keysEmpty")}>{t("storages.keysEmptyHint")}</Empty>}
      narrow={(key) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1">
          {name(key)}
          <KeyMenu storage={storage} credential={key} />
          <div className="col-span-2 flex flex-wrap items-baseline gap-x-4">
            {state(key)}
            <span className="num text-ink-3 text-xs">
              {makerOf(key)} · {day(key.created_at)}
            </span>
          </div>
        </div>
      )}
    />
  );
}
