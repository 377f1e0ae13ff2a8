import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { PoolId, Worker } from "@/api/generated/types";
import { capacity, pool, workers } from "./queries";

/** While workers come or go and the page is seen, in milliseconds: there are no events of them. */
const LOOK = 2000;

const moves = ({ stage }: Worker) => stage === "ordered" || stage === "draining" || stage === "leaving";

/** Reads the pool again and again while its workers move. */
export function useFollow(id: PoolId, items: readonly Worker[]) {
  const refetchInterval = items.some(moves) && LOOK;
  useQuery({ ...pool(id), refetchInterval });
  useQuery({ ...capacity(id), refetchInterval });
  useInfiniteQuery({ ...workers(id), refetchInterval });
}
