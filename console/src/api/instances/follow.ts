import type { QueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getInstance } from "@/api/generated/operations";
import type { Event, InstanceId, InstanceState } from "@/api/generated/types";
import { onEvents, readOnceHeard } from "@/api/live";
import { ApiError } from "@/api/problem";
import { dropInstance, keys, knownInstance, knownInstances, putInstance } from "./cache";
import { type EndedRuns, endedRunOf, endedRunsKey } from "./queries";

/** Events that come together are answered by one reading. */
const TOGETHER = 30;
/** Progress of a transition changes without an event: it is polled while the page is visible. */
const LOOK = 2000;
/** Above this many the list is read instead. */
const MANY = 8;

const moves = new Set<InstanceState>(["pending", "starting", "stopping", "deleting"]);

const isShown = (client: QueryClient, id: InstanceId) =>
  client.getQueryCache().findAll({ queryKey: keys.lists, type: "active" }).length > 0 ||
  client.getQueryCache().findAll({ queryKey: keys.one(id), type: "active" }).length > 0;

/** Keeps what is shown of instances as it is in truth. Returns what ends it. */
export function followInstances(client: QueryClient): () => void {
  const wanted = new Set<InstanceId>();
  const touched = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;

  const flush = () => {
    timer = undefined;
    if (document.hidden) return;
    for (const name of touched) void client.invalidateQueries({ queryKey: [name] });
    touched.clear();
    const ids = [...wanted].filter((id) => isShown(client, id));
    wanted.clear();
    if (ids.length > MANY) void client.invalidateQueries({ queryKey: keys.lists });
    else for (const id of ids) void readInstance(client, id);
  };
  const soon = () => {
    timer ??= setTimeout(flush, TOGETHER);
  };
  const stopEvents = onEvents(["instance", "budget"], (event) => {
    for (const name of touchedBy(event)) touched.add(name);
    hear(client, event);
    if (event.instance_id && event.type !== "instance.deleted") wanted.add(event.instance_id);
    soon();
  });
  const look = setInterval(() => {
    if (document.hidden) return;
    for (const it of knownInstances(client)) if (moves.has(it.state)) wanted.add(it.id);
    if (wanted.size > 0) soon();
  }, LOOK);
  const stopLive = readOnceHeard(client, [keys.lists, ["instance"]]);
  document.addEventListener("visibilitychange", soon);
  return () => {
    stopEvents();
    stopLive();
    clearInterval(look);
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", soon);
  };
}

/** Queries that an event makes old, by the first part of their keys. */
function touchedBy({ type }: Event): string[] {
  if (type.startsWith("budget.")) return ["budget"];
  switch (type) {
    case "instance.unit_claimed":
    case "instance.stopped":
    case "instance.hold_ended":
    case "instance.deleted":
      return ["quota", "stock", "budget", "storages", "storage"];
    case "instance.created":
      return ["quota", "storages", "storage"];
    case "instance.storage_attached":
    case "instance.storage_detached":
      return ["storages", "storage"];
    default:
      return [];
  }
}

function hear(client: QueryClient, event: Event) {
  if (event.type === "instance.deleted" && event.instance_id) dropInstance(client, event.instance_id);
  const run = endedRunOf(event);
  if (run)
    client.setQueryData<EndedRuns>(
      endedRunsKey,
      (old) => old && { ...old, runs: [run, ...old.runs].slice(0, 1000) },
    );
}

async function readInstance(client: QueryClient, id: InstanceId) {
  try {
    putInstance(client, await call(getInstance, { path: { id } }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404 && knownInstance(client, id))
      dropInstance(client, id);
    // else the next event or look asks again
  }
}
