import type { OperationChanged, StorageEvent, StorageSnapshot, Topic } from "../src/api/generated/types";
import type { LiveEvent } from "../src/api/live";
import type { Backend, Source, Stream } from "./backend.ts";
import { eventsOf } from "./events.ts";
import type { Caller, MockReply, MockRequest } from "./http.ts";
import { now } from "./times.ts";
import { settleUnits } from "./units.ts";

const BEAT = 15_000;
/** How often storages and the stock are looked at, in milliseconds. */
const LOOK = 150;

const ofTenant: Topic[] = ["instances", "budgets", "jobs", "storages", "operations"];

/** What can be told again after a position. Storages and the stock begin with what comes next. */
const told = (backend: Backend, { session }: Caller) =>
  ({
    gpu: eventsOf(backend, session.tenant_id).map((event) => [event.sequence, event] as const),
    jobs: backend.jobs.events
      .map((event, i) => [i + 1, event] as const)
      .filter(([, event]) => event.tenant_id === session.tenant_id),
  }) satisfies Partial<Record<Source, (readonly [number, LiveEvent])[]>>;

/** `GET /v1/stream`: what happens to everything that the caller may see, from now on or after a position. */
export function follow(backend: Backend, request: MockRequest, caller: Caller): MockReply {
  const known = told(backend, caller);
  const topics: Topic[] = [...(caller.session.tenant_id ? ofTenant : []), "stock"];
  const wanted = request.headers.get("last-event-id");
  const positions = new Map(
    wanted?.split(";").map((it) => [it.split("=")[0] ?? "", Number(it.split("=")[1])]) ?? [],
  );
  return {
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    stream: ({ send, end }, signal) => {
      const id = () => `id: ${[...positions].map(([source, at]) => `${source}=${at}`).join(";")}\n`;
      const stream: Stream = {
        user_id: caller.user.id,
        tenant_id: caller.session.tenant_id,
        tell: (source, position, event) => {
          positions.set(source, position);
          send(`${id()}event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
        },
        notice: (notice) => send(`event: ${notice.type}\ndata: ${JSON.stringify(notice)}\n\n`),
        end: () => {
          close();
          end();
        },
      };
      send("retry: 1000\n");
      stream.notice({ type: "stream.opened", topics });
      for (const [source, events] of Object.entries(known) as [
        keyof typeof known,
        (readonly [number, LiveEvent])[],
      ][]) {
        const newest = events.at(-1)?.[0] ?? 0;
        const after = positions.get(source) ?? newest;
        if (after > newest) stream.notice({ type: "stream.reset", topics, reason: "events_deleted" });
        positions.set(source, Math.min(after, newest));
        for (const [position, event] of events) if (position > after) stream.tell(source, position, event);
      }
      send(`${id()}\n`);
      backend.streams.add(stream);
      const beat = setInterval(() => send(": still here\n\n"), BEAT);
      const look = watch(backend, caller, (source, event) => stream.tell(source, 1, event));
      const close = () => {
        clearInterval(beat);
        clearInterval(look);
        backend.streams.delete(stream);
      };
      signal.addEventListener("abort", close);
    },
  };
}

/** Tells what has changed of storages and of the stock since the last look, whoever changed it, as triggers do. */
function watch(
  backend: Backend,
  { user, session }: Caller,
  tell: (source: Source, event: LiveEvent) => void,
) {
  const storages = differ(
    () => backend.storages.filter((it) => it.tenant_id === session.tenant_id),
    (it) => it.id,
  );
  const operations = differ(
    () => backend.storageOperations.filter((it) => it.tenant_id === session.tenant_id),
    (it) => it.id,
  );
  const rows = differ(
    () => backend.stock,
    (it) => `${it.gpu_spec.id} ${it.datacenter.id}`,
  );
  const units = differ(
    () => backend.units,
    (it) => it.id,
  );
  const stockOperations = differ(
    () => backend.stockOperations,
    (it) => it.id,
  );
  const changed = (operation: OperationChanged["operation"]) =>
    ({ type: "operation.changed", time: now(), operation }) as const;
  return setInterval(() => {
    for (const { it, how } of storages()) {
      const { id: storage_id, tenant_id, name, kind, state, reason, message, operation_id } = it;
      const { size_gib, capacity_gib } = it;
      const known = { time: now(), tenant_id, storage_id, name, kind, state, reason, message, operation_id };
      tell("storage", storageEvent(how, { ...known, size_gib, capacity_gib }));
    }
    for (const { it } of operations()) tell("storage", changed(it));
    const moved = rows();
    if (user.admin) {
      if (moved.length > 0) settleUnits(backend);
      for (const { it } of stockOperations()) tell("stock", changed(it));
      for (const { it, how } of units()) {
        const unit = {
          time: now(),
          unit_id: it.id,
          gpu_spec: it.gpu_spec,
          datacenter: it.datacenter,
        } as const;
        if (how === "deleted") tell("stock", { type: "unit.removed", ...unit });
        else tell("stock", { type: "unit.changed", ...unit, state: it.state, reason: it.reason });
      }
    } else
      for (const { it } of moved) {
        const { id, name } = it.gpu_spec;
        tell("stock", { type: "stock.changed", gpu_spec: { id, name }, datacenter: it.datacenter });
      }
  }, LOOK);
}

const storageEvent = (how: How, it: StorageSnapshot): StorageEvent => ({ ...it, type: `storage.${how}` });

type How = "created" | "changed" | "deleted";

/** Gives at each call what has come, changed and gone since the call before. */
function differ<T>(read: () => readonly T[], idOf: (it: T) => string): () => { it: T; how: How }[] {
  const look = () => new Map(read().map((it) => [idOf(it), [JSON.stringify(it), it] as const]));
  let before = look();
  return () => {
    const after = look();
    const found: { it: T; how: How }[] = [];
    for (const [id, [text, it]] of after) {
      const old = before.get(id);
      if (old?.[0] !== text) found.push({ it, how: old ? "changed" : "created" });
    }
    for (const [id, [, it]] of before) if (!after.has(id)) found.push({ it, how: "deleted" });
    before = after;
    return found;
  };
}
