import { Plus } from "lucide-react";
import { useState } from "react";
import { asCurl, call } from "@/api/client";
import { createRegistryCredential, deleteRegistryCredential } from "@/api/generated/operations";
import type { RegistryCredential } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useMakerName } from "@/domain/maker";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";
import { notify } from "@/ui/toast";
import { registryCredentials } from "./queries";

interface Props {
  items: readonly RegistryCredential[];
  reason: string | false;
  /** Opens the form, with this registry in it. */
  onReplace: (registry: string) => void;
}

export function Credentials({ items, reason, onReplace }: Props) {
  const { t } = useText();
  const { day } = useFormat();
  const makerOf = useMakerName();
  const name = (it: RegistryCredential) => (
    <span className="block min-w-0">
      <span className="block truncate font-medium">{it.name}</span>
      <span className="block truncate text-ink-3 text-xs">{it.username}</span>
    </span>
  );
  const registry = (it: RegistryCredential) => (
    <code className="block truncate font-mono text-xs" title={it.registry}>
      {it.registry}
    </code>
  );
  const menu = (it: RegistryCredential) => (
    <CredentialMenu credential={it} reason={reason} onReplace={() => onReplace(it.registry)} />
  );
  const columns: Column<RegistryCredential>[] = [
    { key: "name", label: t("secrets.name"), width: "minmax(9rem, 1fr)", cell: name },
    { key: "registry", label: t("secrets.registry"), width: "minmax(11rem, 1.2fr)", cell: registry },
    {
      key: "maker",
      label: t("secrets.madeBy"),
      width: "minmax(8rem, 0.8fr)",
      cell: (it) => <span className="block truncate text-sm">{makerOf(it)}</span>,
    },
    {
      key: "since",
      label: t("secrets.since"),
      width: "7rem",
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.created_at)}</span>,
    },
    {
      key: "actions",
      label: t("secrets.deleteVerb"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("secrets.registries")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={<None reason={reason} onAdd={() => onReplace("")} />}
      footer={t("secrets.whenUsed")}
      narrow={(it) => (
        <div className="grid grid-cols-[minmax(0,1fr)_auto] items-start gap-x-3 gap-y-1">
          {name(it)}
          <div className="-my-1">{menu(it)}</div>
          <div className="col-span-2 min-w-0">
            {registry(it)}
            <span className="num block text-ink-3 text-xs">
              {makerOf(it)} · {day(it.created_at)}
            </span>
          </div>
        </div>
      )}
    />
  );
}

function None({ reason, onAdd }: { reason: string | false; onAdd: () => void }) {
  const { t } = useText();
  const body = { name: "studio images", registry: "ghcr.io", username: "robot", secret: "TOKEN" };
  return (
    <>
      <Empty
        title={t("secrets.emptyTitle")}
        actions={
          <Button disabled={reason} onClick={onAdd}>
            <Plus className="size-4" aria-hidden="true" />
            {t("secrets.add")}
          </Button>
        }
      >
        {t("secrets.emptyHint")}
      </Empty>
      {!reason && (
        <div className="mx-auto max-w-136 px-4 pb-8">
          <p className="mb-1 text-ink-3 text-xs">{t("secrets.curl")}</p>
          <CopyBox lines text={asCurl(createRegistryCredential, { body })} label={t("ui.copyAsCurl")} />
        </div>
      )}
    </>
  );
}

function CredentialMenu({
  credential,
  reason,
  onReplace,
}: {
  credential: RegistryCredential;
  reason: string | false;
  onReplace: () => void;
}) {
  const { t } = useText();
  const [open, setOpen] = useState(false);
  const { id, name, registry } = credential;
  const remove = useAct((_: void, key) => call(deleteRegistryCredential, { path: { id } }, { key }), {
    touches: [registryCredentials.queryKey],
    onDone: () => {
      setOpen(false);
      notify({ title: t("secrets.deleted", { name }) });
    },
  });
  return (
    <>
      <ActionMenu
        label={t("secrets.actionsFor", { name })}
        entries={[
          {
            key: "replace",
            label: t("secrets.addAgain"),
            note: t("secrets.addAgainHint"),
            disabled: reason,
            onSelect: onReplace,
          },
          "line",
          {
            key: "delete",
            label: t("secrets.delete"),
            danger: true,
            disabled: reason,
            onSelect: () => setOpen(true),
          },
        ]}
      />
      <ConfirmDialog
        open={open}
        onClose={() => {
          setOpen(false);
          remove.reset();
        }}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("secrets.deleteTitle", { name })}
        verb={t("secrets.deleteVerb")}
      >
        <p>{t("secrets.deleteHint", { registry })}</p>
      </ConfirmDialog>
    </>
  );
}
