import { useSyncExternalStore } from "react";

/** One clock for all that ticks, so that two numbers of a page never disagree. It runs while a component uses it. */
const listeners = new Set<() => void>();
let now = Date.now();
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void) {
  if (listeners.size === 0) {
    now = Date.now();
    timer = setInterval(() => {
      now = Date.now();
      for (const tell of listeners) tell();
    }, 1000);
  }
  listeners.add(listener);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** Milliseconds since the epoch, renewed each second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
