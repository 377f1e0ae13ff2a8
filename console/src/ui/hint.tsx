import { type ReactElement, type ReactNode, useId, useRef, useState } from "react";

interface Place {
  left: number;
  top: number;
  above: boolean;
}

const WIDTH = 288;
const GAP = 6;

/** Below the element, above it near the window's end, never past an edge. */
function placeAt(element: Element): Place {
  const rect = element.getBoundingClientRect();
  const above = rect.bottom > innerHeight - 80;
  return {
    left: Math.max(8, Math.min(rect.left, innerWidth - WIDTH - 8)),
    top: above ? rect.top - GAP : rect.bottom + GAP,
    above,
  };
}

/** Says something about what it wraps, on hover and focus; screen readers hear it as a description. */
export function Hint({
  text,
  children,
}: {
  text: string;
  children: (described: { "aria-describedby": string }) => ReactElement;
}): ReactNode {
  const id = useId();
  const wrapper = useRef<HTMLSpanElement>(null);
  const [place, setPlace] = useState<Place | null>(null);
  const show = () => {
    const element = wrapper.current?.firstElementChild;
    if (element) setPlace(placeAt(element));
  };
  const hide = () => setPlace(null);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what it wraps is the control
    <span
      ref={wrapper}
      className="contents"
      onMouseOver={show}
      onMouseOut={hide}
      onFocus={show}
      onBlur={hide}
      onKeyDown={(event) => event.key === "Escape" && hide()}
    >
      {children({ "aria-describedby": id })}
      <span
        id={id}
        role="tooltip"
        hidden={!place}
        className="pointer-events-none fixed z-50 w-max whitespace-normal rounded-md bg-ink px-2.5 py-1.5 text-left font-normal text-paper text-xs shadow-float"
        style={{
          maxWidth: WIDTH,
          left: place?.left,
          top: place?.top,
          transform: place?.above ? "translateY(-100%)" : undefined,
        }}
      >
        {text}
      </span>
    </span>
  );
}
