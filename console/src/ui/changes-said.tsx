import { useEffect, useRef, useState } from "react";

export interface Said {
  id: string;
  state: string;
  /** Whether it has come to rest: steps of the way are not told. */
  rests: boolean;
  text: string;
}

/** So many are told at once. */
const MOST = 3;

/** Says to screen readers what of a list has come to rest. */
export function ChangesSaid({ items }: { items: readonly Said[] }) {
  const last = useRef(new Map<string, string>());
  const [said, setSaid] = useState("");
  useEffect(() => {
    const before = last.current;
    const changed = items.filter((it) => {
      const state = before.get(it.id);
      return state !== undefined && state !== it.state && it.rests;
    });
    last.current = new Map(items.map((it) => [it.id, it.state]));
    if (changed.length === 0) return;
    setSaid(
      changed
        .slice(0, MOST)
        .map((it) => it.text)
        .join(", "),
    );
  }, [items]);
  return (
    <p role="status" className="sr-only">
      {said}
    </p>
  );
}
