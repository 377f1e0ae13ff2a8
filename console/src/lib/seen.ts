import { useEffect, useRef, useState } from "react";

/** So far from the window something counts as seen already. */
const NEAR = "240px";

/** Whether an element has come into view, once. */
export function useSeen<Element extends HTMLElement>() {
  const ref = useRef<Element>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (!ref.current || seen) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((it) => it.isIntersecting)) setSeen(true);
      },
      { rootMargin: NEAR },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, [seen]);
  return [ref, seen] as const;
}
