import { Tooltip } from "@base-ui/react/tooltip";
import { type ReactElement, useId } from "react";

/** Says something about what it wraps, on hover and focus; screen readers hear it as a description. */
export function Hint({ text, children }: { text: string; children: ReactElement<Record<string, unknown>> }) {
  const id = useId();
  return (
    <Tooltip.Root>
      <Tooltip.Trigger render={children} delay={300} closeOnClick={false} aria-describedby={id} />
      <span id={id} hidden>
        {text}
      </span>
      <Tooltip.Portal>
        <Tooltip.Positioner sideOffset={6} className="z-30">
          <Tooltip.Popup className="max-w-72 rounded-md bg-ink px-2.5 py-1.5 text-paper text-xs shadow-float">
            {text}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}
