import { useSyncExternalStore } from "react";

const query = matchMedia("(max-width: 767px)");

const subscribe = (listener: () => void) => {
  query.addEventListener("change", listener);
  return () => query.removeEventListener("change", listener);
};

/** Whether the window is a phone's: rows have a layout of their own there. */
export const useNarrow = () => useSyncExternalStore(subscribe, () => query.matches);
