import { Link } from "@tanstack/react-router";
import type { Instance, InstanceSecret } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Empty } from "@/ui/page";
import { type Column, Table } from "@/ui/table";

interface Kept {
  secret: InstanceSecret;
  instance: Instance;
}

/** Which secrets instances have: their names, never their values. */
export function InstanceSecrets({
  instances,
  isWhole,
}: {
  instances: readonly Instance[];
  /** Whether these are all instances. */
  isWhole: boolean;
}) {
  const { t } = useText();
  const { day } = useFormat();
  const items = instances.flatMap((instance) =>
    instance.secrets.map((secret): Kept => ({ secret, instance })),
  );
  const variable = ({ secret }: Kept) => (
    <code className="block truncate font-mono text-xs">{secret.name}</code>
  );
  const owner = ({ instance }: Kept) => (
    <Link
      to="/instances/$id"
      params={{ id: instance.id }}
      className="block truncate font-medium text-sm hover:text-ultra hover:underline"
    >
      {instance.name}
    </Link>
  );
  const written = ({ secret }: Kept) => (
    <span className="num text-ink-2 text-sm max-md:text-xs">{day(secret.updated_at)}</span>
  );
  const columns: Column<Kept>[] = [
    { key: "variable", label: t("secrets.variable"), width: "minmax(10rem, 1fr)", cell: variable },
    { key: "instance", label: t("secrets.instance"), width: "minmax(10rem, 1fr)", cell: owner },
    { key: "written", label: t("secrets.written"), width: "7rem", cell: written },
  ];
  return (
    <Table
      label={t("secrets.inInstancesTitle")}
      items={items}
      columns={columns}
      rowKey={({ instance, secret }) => `${instance.id} ${secret.name}`}
      rowHeight={44}
      empty={<Empty title={t("secrets.inInstancesNone")}>{t("secrets.inInstancesNoneHint")}</Empty>}
      footer={!isWhole && t("secrets.onlySome", { count: instances.length })}
      narrow={(it) => (
        <div className="flex items-center justify-between gap-3">
          <span className="min-w-0">
            {variable(it)}
            {owner(it)}
          </span>
          {written(it)}
        </div>
      )}
    />
  );
}
