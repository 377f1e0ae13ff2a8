import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import type { Event, Instance } from "@/api/generated/types";
import { people } from "@/api/instances/details";
import { onEvents } from "@/api/live";
import { useTenant } from "@/app/needs-tenant";
import { useActorName } from "@/domain/actor";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { Filled, slot } from "@/ui/filled";
import { Panel, Section } from "@/ui/page";
import { recentEvents, recentEventsKey } from "./queries";
import { toldOf } from "./told";

const SHOWN = 6;
/** As many as one answer has. */
const KEPT = 100;

/** What happened last, as it happens. */
export function Recent({ items }: { items: readonly Instance[] }) {
  const { t } = useText();
  const client = useQueryClient();
  const { data: events } = useQuery(recentEvents);
  useEffect(
    () =>
      onEvents(["instance", "budget"], (event) =>
        client.setQueryData<readonly Event[]>(
          recentEventsKey,
          (old) => old && [event, ...old.filter((it) => it.id !== event.id)].slice(0, KEPT),
        ),
      ),
    [client],
  );
  const told = events?.filter((event) => toldOf(event)).slice(0, SHOWN);
  return (
    <Section
      title={t("overview.recent")}
      actions={
        <Link to="/activity" className="text-sm text-ultra hover:underline">
          {t("overview.allActivity")}
        </Link>
      }
    >
      <Panel>
        {told && told.length === 0 && (
          <p className="px-4 py-6 text-center text-ink-2 text-sm">{t("overview.noneRecent")}</p>
        )}
        <ul aria-label={t("overview.recent")}>
          {told?.map((event) => (
            <One key={event.id} event={event} items={items} />
          ))}
        </ul>
      </Panel>
    </Section>
  );
}

function One({ event, items }: { event: Event; items: readonly Instance[] }) {
  const { t } = useText();
  const { clock } = useFormat();
  const { data: names } = useQuery(people(useTenant()));
  const nameOf = useActorName(names);
  const key = toldOf(event);
  if (!key) return null;
  const known = items.find((it) => it.id === event.instance_id);
  const what = known ? (
    <Link
      to="/instances/$id"
      params={{ id: known.id }}
      className="font-medium hover:text-ultra hover:underline"
    >
      {known.name}
    </Link>
  ) : (
    <span className="font-medium">{nameIn(event)}</span>
  );
  const percent = event.type === "budget.reached" ? event.data.percent : 0;
  const parts: ReactNode[] = [nameOf(event.actor) ?? t("overview.platform"), what, percent];
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 border-line border-b px-4 py-2.5 text-sm last:border-b-0">
      <span className="min-w-0 break-words">
        <Filled text={t(key, { who: slot(0), what: slot(1), percent: slot(2) })} parts={parts} />
      </span>
      <time dateTime={event.time} className="num whitespace-nowrap text-ink-3 text-xs">
        {clock(event.time)}
      </time>
    </li>
  );
}

/** The name that the event itself tells. */
function nameIn(event: Event): string {
  if (event.type === "instance.created" || event.type === "instance.deleted") return event.data.name;
  return event.instance_id ? shortId(event.instance_id) : "";
}
