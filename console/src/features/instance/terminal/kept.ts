import type { InstanceId } from "@/api/generated/types";
import { createStore } from "@/lib/store";

interface Kept {
  end: () => void;
}

/** The terminals that are open: they stay while one looks at other tabs of their instance. */
export const keptTerminals = createStore<ReadonlyMap<InstanceId, Kept>>(new Map());

export function keepTerminal(id: InstanceId, end: () => void) {
  keptTerminals.set(new Map(keptTerminals.get()).set(id, { end }));
}

export function endTerminal(id: InstanceId) {
  const kept = keptTerminals.get().get(id);
  if (!kept) return;
  const left = new Map(keptTerminals.get());
  left.delete(id);
  keptTerminals.set(left);
  kept.end();
}
