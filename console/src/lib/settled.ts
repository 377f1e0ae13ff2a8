import { useEffect, useState } from "react";

/** The value, once it has not changed for a while: what is typed is not asked about letter by letter. */
export function useSettled<Value>(value: Value, milliseconds = 350): Value {
  const [settled, setSettled] = useState(value);
  const key = JSON.stringify(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: an equal value begins no new wait
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [key, milliseconds]);
  return settled;
}
