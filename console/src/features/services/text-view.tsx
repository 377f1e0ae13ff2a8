import { clsx } from "clsx";
import { useId, useRef } from "react";
import { useText } from "@/i18n";
import type { Fault } from "./check";
import { lineOf } from "./json";

const LINE = 20;

/** The whole template as JSON. Faults stand at their lines, those of the service too. */
export function TextView({
  text,
  faults,
  onChange,
}: {
  text: string;
  faults: readonly Fault[];
  onChange: (text: string) => void;
}) {
  const { t } = useText();
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const lines = text.split("\n");
  const placed = faults
    .map((fault) => ({ ...fault, line: lineOf(text, fault.pointer.replace(/^\/template/, "")) }))
    .sort((a, b) => a.line - b.line);
  const wrong = new Set(placed.map(({ line }) => line));
  const go = (line: number) => {
    const from = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
    area.current?.focus();
    area.current?.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
  };
  return (
    <div>
      <div
        className={clsx(
          "max-h-[60dvh] overflow-y-auto rounded-md border bg-sheet font-mono text-xs focus-within:outline-2 focus-within:-outline-offset-1 focus-within:outline-ultra",
          placed.length > 0 ? "border-vermilion" : "border-line-strong",
        )}
      >
        <div className="flex">
          <ol
            aria-hidden="true"
            className="num shrink-0 select-none border-line border-r py-2 text-right text-ink-3"
          >
            {lines.map((_, i) => (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: a line is known by its number
                key={i}
                className={clsx(
                  "h-5 pr-2 pl-3 leading-5",
                  wrong.has(i + 1) && "bg-vermilion-wash font-medium text-vermilion",
                )}
              >
                {i + 1}
              </li>
            ))}
          </ol>
          <textarea
            ref={area}
            name="template"
            aria-label={t("catalogue.templateText")}
            aria-invalid={placed.length > 0}
            aria-describedby={`${id}-faults`}
            value={text}
            onChange={(event) => onChange(event.target.value)}
            spellCheck={false}
            wrap="off"
            rows={lines.length}
            style={{ height: lines.length * LINE + 16 }}
            className="min-w-0 flex-1 resize-none overflow-x-auto overflow-y-hidden bg-transparent px-3 py-2 leading-5 outline-none"
          />
        </div>
      </div>
      <div id={`${id}-faults`} role="status" className="mt-2 text-sm">
        {placed.length === 0 ? (
          <p className="text-ink-3 text-xs">{t("catalogue.textHint")}</p>
        ) : (
          <ul className="space-y-1">
            {placed.map(({ line, pointer, detail }) => (
              <li key={`${pointer} ${detail}`} className="text-vermilion">
                <button
                  type="button"
                  onClick={() => go(line)}
                  className="num min-h-6 cursor-pointer font-medium underline-offset-2 hover:underline"
                >
                  {t("catalogue.line", { line })}
                </button>{" "}
                <code className="font-mono text-xs">{pointer}</code>: {detail}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}
