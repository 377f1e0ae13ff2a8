import type { QueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { getStorage } from "@/api/generated/operations";
import type { Storage, StorageId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { dropStorage, keys, putStorage } from "./cache";

/** No event tells how far a storage is: those on their way are asked for while the page is seen. */
const LOOK = 2000;
/** Above this many the lists are read instead. */
const MANY = 8;

/** Asks again and again for those that `wanted` names. Returns what ends it. */
export function followStorages(client: QueryClient, wanted: () => readonly Storage[]): () => void {
  const look = setInterval(() => {
    if (document.hidden) return;
    const moving = wanted();
    if (moving.length > MANY) void client.invalidateQueries({ queryKey: keys.lists });
    else for (const { id } of moving) void readStorage(client, id);
  }, LOOK);
  return () => clearInterval(look);
}

async function readStorage(client: QueryClient, id: StorageId) {
  try {
    putStorage(client, await call(getStorage, { path: { id } }));
    void client.invalidateQueries({ queryKey: ["storage-operations", id] });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) dropStorage(client, id);
    // else the next look asks again
  }
}
