import type { QueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getStorage } from "@/api/generated/operations";
import type { StorageId } from "@/api/generated/types";
import { onEvents, readOnceHeard } from "@/api/live";
import { ApiError } from "@/api/problem";
import { dropStorage, keys, knownStorages, putStorage } from "./cache";

/** Events that come together are answered by one reading. */
const TOGETHER = 50;
/** Above this many the lists are read instead. */
const MANY = 8;

/** Keeps what is shown of storages as it is in truth. Returns what ends it. */
export function followStorages(client: QueryClient): () => void {
  const wanted = new Set<StorageId>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    timer = undefined;
    const known = new Set(knownStorages(client).map((it) => it.id));
    const isListStale = wanted.size > MANY || [...wanted].some((id) => !known.has(id));
    if (isListStale) void client.invalidateQueries({ queryKey: keys.lists });
    else for (const id of wanted) void readStorage(client, id);
    wanted.clear();
  };
  const want = (id: StorageId) => {
    wanted.add(id);
    timer ??= setTimeout(flush, TOGETHER);
  };
  const stopEvents = onEvents(["storage"], (event) => {
    const { storage_id: id } = event;
    if (event.type === "storage.deleted") dropStorage(client, id);
    else want(id);
    if (event.type === "storage.created") void client.invalidateQueries({ queryKey: keys.quota });
  });
  const stopOperations = onEvents(["operation"], ({ operation }) => {
    void client.invalidateQueries({ queryKey: ["storage-operations", operation.target] });
  });
  const stopLive = readOnceHeard(client, [keys.lists, ["storage"]]);
  return () => {
    stopEvents();
    stopOperations();
    stopLive();
    clearTimeout(timer);
  };
}

async function readStorage(client: QueryClient, id: StorageId) {
  try {
    putStorage(client, await call(getStorage, { path: { id } }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) dropStorage(client, id);
    // else the next event asks again
  }
}
