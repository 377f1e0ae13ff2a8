import { clsx } from "clsx";

/** The end of what a program wrote, in a box that scrolls; lines that tell of errors stand out. */
export function LogBox({ label, text }: { label: string; text: string }) {
  const lines = text.trimEnd().split("\n");
  return (
    <section
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      aria-label={label}
      className="max-h-80 overflow-auto font-mono text-xs leading-5 -outline-offset-2"
    >
      {lines.map((line, i) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing else to be known by
          key={i}
          className={clsx(
            "whitespace-pre-wrap break-words px-4",
            /\b(error|fatal|traceback|exception)\b/i.test(line) && "bg-vermilion-wash text-vermilion",
          )}
        >
          {line}
        </div>
      ))}
    </section>
  );
}
