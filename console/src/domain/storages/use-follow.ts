import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent } from "react";
import type { Storage } from "@/api/generated/types";
import { followStorages } from "@/api/storages/follow";
import { isMoving } from "./standing";

/** Asks again for those that are on their way, while the page is seen. */
export function useFollow(items: readonly Storage[]) {
  const client = useQueryClient();
  const moving = useEffectEvent(() => items.filter(isMoving));
  useEffect(() => followStorages(client, () => moving()), [client]);
}
