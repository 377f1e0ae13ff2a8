import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";
import type { InstanceId } from "@/api/generated/types";
import { useText } from "@/i18n";
import { clientName } from "@/lib/client-name";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { CopyIconButton } from "@/ui/copy";
import { Filled, slot } from "@/ui/filled";
import { didOf, targetOf } from "./did";
import type { Entry } from "./queries";

export type Names = ReadonlyMap<string, string>;

/** Who did what, when and from where; unfolded, all that is recorded. */
export function EntryRow({
  entry,
  names,
  isOpen,
  onOpen,
}: {
  entry: Entry;
  names: Names;
  isOpen: boolean;
  onOpen: () => void;
}) {
  const { t } = useText();
  const { seconds } = useFormat();
  const Icon = isOpen ? ChevronDown : ChevronRight;
  const from = entry.address
    ? [entry.address, clientName(entry.user_agent, t)].join(" · ")
    : t("activity.inside");
  return (
    <li className="border-line border-b last:border-b-0">
      <div className="flex min-h-11 items-start gap-3 px-3 py-2">
        <button
          type="button"
          aria-expanded={isOpen}
          aria-label={t("activity.unfold", { number: entry.number })}
          onClick={onOpen}
          className="grid size-7 shrink-0 cursor-pointer place-items-center rounded-md text-ink-3 hover:bg-wash hover:text-ink"
        >
          <Icon className="size-4" aria-hidden="true" />
        </button>
        <div className="grid min-w-0 flex-1 gap-x-4 py-1 md:grid-cols-[minmax(0,1fr)_16rem_9rem]">
          <p className="min-w-0 break-words text-sm">
            <Filled
              text={t(didOf(entry.operation), { who: slot(0), what: slot(1), operation: slot(2) })}
              parts={[
                <Who key="who" entry={entry} names={names} />,
                <What key="what" entry={entry} names={names} />,
                <code key="operation" className="font-mono text-xs">
                  {entry.operation}
                </code>,
              ]}
            />
          </p>
          <span className="num truncate text-ink-3 text-xs leading-5">{from}</span>
          <time dateTime={entry.at} className="num text-ink-3 text-xs leading-5 md:text-right">
            {seconds(entry.at)}
          </time>
        </div>
      </div>
      {isOpen && <Raw entry={entry} />}
    </li>
  );
}

function Who({ entry, names }: { entry: Entry; names: Names }) {
  const { t } = useText();
  const { user_id, api_key_id, is_admin, service } = entry;
  if (is_admin) return t("activity.administrator");
  if (!user_id) return service ? t("activity.service", { service }) : t("activity.platform");
  const name = names.get(user_id) ?? t("ui.formerMember");
  return api_key_id ? t("activity.byKey", { name, key: shortId(api_key_id) }) : name;
}

function What({ entry, names }: { entry: Entry; names: Names }) {
  const id = targetOf(entry);
  if (!id) return null;
  const name = names.get(id);
  if (!name) return <code className="font-mono text-xs">{shortId(id)}</code>;
  if (!id.startsWith("inst_")) return <span className="font-medium">{name}</span>;
  return (
    <Link
      to="/instances/$id"
      params={{ id: id as InstanceId }}
      className="font-medium hover:text-ultra hover:underline"
    >
      {name}
    </Link>
  );
}

/** The entry as the API gives it. */
function Raw({ entry }: { entry: Entry }) {
  const { t } = useText();
  const { log: _, fields, ...rest } = entry;
  const rows: [string, ReactNode, string | null][] = Object.entries(rest).map(([name, value]) => [
    name,
    value === null ? "–" : String(value),
    typeof value === "string" ? value : null,
  ]);
  return (
    <dl className="mx-3 mb-3 grid gap-x-4 rounded-md border border-line bg-paper px-3 py-2 text-xs sm:grid-cols-[8rem_minmax(0,1fr)] md:ml-13">
      {[...rows, ["fields", fields.join(", ") || "–", null] as const].map(([name, value, copy]) => (
        <div key={name} className="contents">
          <dt className="py-1 font-mono text-ink-3">{name}</dt>
          <dd className="flex min-w-0 items-center gap-1">
            <code className="min-w-0 break-all font-mono">{value}</code>
            {copy && <CopyIconButton text={copy} label={t("activity.copy", { name })} />}
          </dd>
        </div>
      ))}
    </dl>
  );
}
