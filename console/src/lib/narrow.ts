import { useSyncExternalStore } from "react";

function follow(media: string) {
  const query = matchMedia(media);
  const subscribe = (listener: () => void) => {
    query.addEventListener("change", listener);
    return () => query.removeEventListener("change", listener);
  };
  return () => useSyncExternalStore(subscribe, () => query.matches);
}

/** Whether the window is a phone's: rows have a layout of their own there. */
export const useNarrow = follow("(max-width: 767px)");

/** Whether all columns of a long row have room beside the sidebar. */
export const useWide = follow("(min-width: 1240px)");
