import { useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useRef, useState } from "react";

/** The part of the window that rows have at most. */
const HEIGHT = 0.7;
/** Rows beyond those in view, so that they are there when they come into view. */
const BEYOND = 6;
/** They come after the first look at the page, in milliseconds. */
const REST = 250;

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
  const [isShown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(true), REST);
    return () => clearTimeout(timer);
  }, []);
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => list.current,
    estimateSize: () => rowHeight,
    // about as many as the box will have: nothing is drawn only to be measured
    initialRect: { width: 0, height: innerHeight * HEIGHT },
    overscan: isShown ? BEYOND : 0,
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
