import { Select as Base } from "@base-ui/react/select";
import { Check } from "lucide-react";
import { type ReactElement, useState } from "react";
import type { Choice } from "./choice";

/** The choices, open from the start: what is pressed to open them was there before. */
export default function SelectPopup({
  trigger,
  value,
  choices,
  onChoose,
}: {
  trigger: ReactElement;
  value: string;
  choices: readonly Choice<string>[];
  onChoose: (value: string) => void;
}) {
  const [open, setOpen] = useState(true);
  return (
    <Base.Root
      open={open}
      onOpenChange={setOpen}
      value={value}
      onValueChange={(next) => next !== null && onChoose(next)}
    >
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} alignItemWithTrigger={false} className="z-30">
          <Base.Popup className="max-h-80 min-w-(--anchor-width) max-w-80 overflow-y-auto rounded-lg border border-float bg-sheet p-1 shadow-float outline-none">
            {choices.map((choice) => (
              <Base.Item
                key={choice.value}
                value={choice.value}
                className="grid cursor-default grid-cols-[1rem_1fr] items-start gap-x-2 rounded-sm px-2 py-1.5 text-sm outline-none data-highlighted:bg-wash max-md:py-2.5"
              >
                <span className="pt-0.5">
                  <Base.ItemIndicator>
                    <Check className="size-4" aria-hidden="true" />
                  </Base.ItemIndicator>
                </span>
                <span className="min-w-0">
                  <Base.ItemText className="block">{choice.label}</Base.ItemText>
                  {choice.hint && <span className="block text-ink-3 text-xs">{choice.hint}</span>}
                </span>
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
