import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";

/** Debounce, in milliseconds: the address follows after it. */
const TYPING = 250;

/** Filters a list while one types. */
export function SearchField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
}) {
  const [text, setText] = useState(value);
  const [shown, setShown] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  // the address has changed by itself: the back button, a link
  if (shown !== value) {
    setShown(value);
    setText(value);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: string) => {
    setText(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setShown(next.trim());
      onChange(next.trim());
    }, TYPING);
  };
  return (
    <label className="flex h-8 w-64 items-center gap-2 rounded-md border border-line-strong bg-sheet px-2 text-sm focus-within:outline-2 focus-within:outline-ultra max-md:h-10 max-md:w-full">
      <Search className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={(event) => change(event.target.value)}
        className="w-full min-w-0 bg-transparent outline-none placeholder:text-ink-3"
      />
    </label>
  );
}
