import { clsx } from "clsx";
import { useId } from "react";

/** A few choices of which one counts, side by side. */
export function Segmented<T extends string>({
  label,
  value,
  choices,
  onChange,
}: {
  label: string;
  value: T;
  choices: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}) {
  const name = useId();
  return (
    <div role="radiogroup" aria-label={label} className="flex rounded-md border border-line bg-sheet p-px">
      {choices.map((choice) => (
        <label
          key={choice.value}
          className={clsx(
            "flex h-6.5 cursor-pointer items-center rounded-sm px-2.5 text-sm has-focus-visible:outline-2 has-focus-visible:outline-ultra max-md:h-9",
            choice.value === value ? "bg-wash font-medium" : "text-ink-2 hover:text-ink",
          )}
        >
          <input
            type="radio"
            name={name}
            value={choice.value}
            checked={choice.value === value}
            onChange={() => onChange(choice.value)}
            className="sr-only"
          />
          {choice.label}
        </label>
      ))}
    </div>
  );
}
