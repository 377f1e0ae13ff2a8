import { useDeferredValue, useEffect, useState } from "react";

// who comes back to a place in the page needs all of it at once
const navigation = performance.getEntriesByType("navigation")[0];
let isFresh = navigation instanceof PerformanceNavigationTiming && navigation.type === "navigate";

function end() {
  isFresh = false;
}

/**
 * Whether only what a first screen holds is drawn: of the first page of a visit, once. The rest follows as soon as that is shown,
 * and gives way to what the person does.
 */
export function useFirstScreen(): boolean {
  const [isFirst] = useState(isFresh);
  useEffect(end, []);
  return useDeferredValue(false, isFirst);
}
