import { useEffect, useRef, useState } from "react";

/** How often the value has changed since it is shown: as a key, it begins an animation anew. */
export function useChanged(value: string): number {
  const last = useRef(value);
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    if (last.current === value) return;
    last.current = value;
    setChanges((n) => n + 1);
  }, [value]);
  return changes;
}
