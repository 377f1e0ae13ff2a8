import { Dialog } from "@base-ui/react/dialog";
import { clsx } from "clsx";
import { Search } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { useInstanceCommands } from "@/domain/instances/commands";
import { useStorageCommands } from "@/domain/storages/commands";
import { useText } from "@/i18n";
import { type Command, useCommands } from "./commands";

export default function Palette({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  return (
    <Dialog.Root open onOpenChange={(next) => !next && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="fixed inset-0 z-20 bg-black/35 dark:bg-black/50" />
        <Dialog.Popup className="fixed top-[12dvh] left-1/2 z-20 w-[calc(100vw-2.5rem)] max-w-136 -translate-x-1/2 overflow-hidden rounded-lg border border-float bg-sheet shadow-float outline-none">
          <Dialog.Title className="sr-only">{t("nav.palette")}</Dialog.Title>
          <Choices onClose={onClose} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

const headings = {
  pages: "nav.palettePages",
  actions: "nav.paletteActions",
  things: "nav.paletteThings",
} as const;

/** Each word must be somewhere in the label, in any order. */
export function search(commands: readonly Command[], query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return commands.filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

function Choices({ onClose }: { onClose: () => void }) {
  const { t } = useText();
  const id = useId();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const commands = useCommands();
  const things = [...useInstanceCommands(query), ...useStorageCommands(query)];
  const found = [...search(commands, query), ...search(things, query)];
  const run = (command: Command | undefined) => {
    if (!command) return;
    onClose();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const next = (at + step + found.length) % Math.max(1, found.length);
      setAt(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[at]);
    }
  };
  return (
    <>
      <div className="flex h-12 items-center gap-3 border-line border-b px-4">
        <Search className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
        <input
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[at] && `${id}-${at}`}
          aria-label={t("nav.palette")}
          placeholder={t("nav.paletteHint")}
          className="w-full bg-transparent text-base outline-none placeholder:text-ink-3"
          value={query}
          onChange={(event) => {
            setQuery(event.target.value);
            setAt(0);
          }}
          onKeyDown={press}
        />
      </div>
      {found.length === 0 && (
        <p className="px-4 py-6 text-center text-ink-2 text-sm">{t("nav.paletteEmpty")}</p>
      )}
      <div
        role="listbox"
        id={`${id}-list`}
        aria-label={t("nav.palette")}
        className="max-h-96 overflow-y-auto p-1"
      >
        {(["pages", "actions", "things"] as const).map((group) => {
          const own = found
            .map((command, index) => ({ command, index }))
            .filter((it) => it.command.group === group);
          if (own.length === 0) return null;
          return (
            // biome-ignore lint/a11y/useSemanticElements: a group of a listbox is no fieldset
            <div role="group" key={group} aria-label={t(headings[group])}>
              <p aria-hidden="true" className="px-3 pt-2 pb-1 text-ink-3 text-xs">
                {t(headings[group])}
              </p>
              {own.map(({ command, index }) => (
                <Choice
                  key={command.key}
                  id={`${id}-${index}`}
                  command={command}
                  chosen={index === at}
                  onPoint={() => setAt(index)}
                  onRun={() => run(command)}
                />
              ))}
            </div>
          );
        })}
      </div>
    </>
  );
}

function Choice({
  id,
  command,
  chosen,
  onPoint,
  onRun,
}: {
  id: string;
  command: Command;
  chosen: boolean;
  onPoint: () => void;
  onRun: () => void;
}) {
  const Icon = command.icon;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the focus and hears the keys
    // biome-ignore lint/a11y/useFocusableInteractive: as above
    <div
      role="option"
      id={id}
      aria-selected={chosen}
      onMouseMove={onPoint}
      onClick={onRun}
      className={clsx(
        "flex h-9 cursor-default items-center gap-3 rounded-sm px-3 text-sm max-md:h-11",
        chosen && "bg-wash",
      )}
    >
      <Icon className="size-4 text-ink-2" strokeWidth={1.6} aria-hidden="true" />
      {command.label}
    </div>
  );
}
