import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Model } from "@/api/generated/types";
import { useWhyNot } from "@/app/roles";
import { MakePictures } from "@/domain/models/make-pictures";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { type Column, Table } from "@/ui/table";
import { type ModelDialog, ModelMenu } from "./model-menu";

export function ModelTable({
  items,
  empty,
  footer,
  onOpen,
  onEnd,
}: {
  items: readonly Model[];
  empty: ReactNode;
  footer?: ReactNode;
  onOpen: (dialog: ModelDialog, it: Model) => void;
  onEnd: (() => void) | undefined;
}) {
  const { t } = useText();
  const { bytes, day } = useFormat();
  const reason = useWhyNot("jobs.write");
  const name = (it: Model) => (
    <span className="block min-w-0">
      <Link to="/models/$id" params={{ id: it.id }} className="block truncate font-medium hover:underline">
        {it.name}
      </Link>
      <span className="block truncate text-ink-3 text-xs">{t(`models.kind_${it.kind}`)}</span>
    </span>
  );
  const pictures = (it: Model) =>
    !reason && (
      <MakePictures small model={it.id}>
        {t("models.makePictures")}
      </MakePictures>
    );
  const menu = (it: Model) => <ModelMenu it={it} whole onOpen={(dialog) => onOpen(dialog, it)} />;
  const columns: Column<Model>[] = [
    { key: "name", label: t("models.name"), width: "minmax(10rem, 1.4fr)", cell: name },
    {
      key: "base",
      label: t("models.adapts"),
      width: "minmax(5rem, 1fr)",
      cell: (it) => <span className="block truncate font-mono text-xs">{it.base_model}</span>,
    },
    {
      key: "size",
      label: t("models.size"),
      width: "4.5rem",
      end: true,
      cell: (it) => <span className="num text-sm">{bytes(it.bytes)}</span>,
    },
    {
      key: "made",
      label: t("models.made"),
      width: "7rem",
      end: true,
      cell: (it) => <span className="num text-ink-2 text-sm">{day(it.created_at)}</span>,
    },
    {
      key: "pictures",
      label: t("models.makePictures"),
      hiddenLabel: true,
      width: "7.5rem",
      end: true,
      cell: pictures,
    },
    {
      key: "actions",
      label: t("models.delete"),
      hiddenLabel: true,
      width: "1.75rem",
      end: true,
      cell: menu,
    },
  ];
  return (
    <Table
      label={t("models.own")}
      items={items}
      columns={columns}
      rowKey={(it) => it.id}
      empty={empty}
      footer={footer}
      onEnd={onEnd}
      narrow={(it) => (
        <div className="flex items-start justify-between gap-3">
          <span className="min-w-0">
            {name(it)}
            <span className="num block text-ink-3 text-xs">
              <span className="font-mono">{it.base_model}</span> · {bytes(it.bytes)} · {day(it.created_at)}
            </span>
          </span>
          {menu(it)}
        </div>
      )}
    />
  );
}
