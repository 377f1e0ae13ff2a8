import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef } from "react";

/** Rows of which only those in view exist. */
export default function ManyRows({
  count,
  rowHeight,
  keyOf,
  row,
  onEnd,
}: {
  count: number;
  rowHeight: number;
  keyOf: (index: number) => string;
  row: (index: number) => ReactNode;
  onEnd?: (() => void) | undefined;
}) {
  "use no memo"; // the virtualizer's functions change what they return
  const list = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => list.current,
    estimateSize: () => rowHeight,
    overscan: 6,
    getItemKey: keyOf,
  });
  const last = virtual.getVirtualItems().at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= count - 1) onEnd?.();
  }, [last, count, onEnd]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    // biome-ignore lint/a11y/useSemanticElements: see Table
    <div role="rowgroup" ref={list} tabIndex={0} className="max-h-[70dvh] overflow-y-auto -outline-offset-2">
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => (
          <div
            key={key}
            role="presentation"
            ref={virtual.measureElement}
            data-index={index}
            className="absolute inset-x-0"
            style={{ transform: `translateY(${start}px)` }}
          >
            {row(index)}
          </div>
        ))}
      </div>
    </div>
  );
}
