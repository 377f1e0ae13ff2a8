import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { Terminal } from "@xterm/xterm";
import { useEffect, useRef } from "react";
import type { Instance, InstanceId } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useStore } from "@/lib/store";
import { adoptingStyles, styleSpansByScript } from "@/ui/adopt-styles";
import { Button } from "@/ui/button";
import { describe, RequestId } from "@/ui/error";
import { StateMark } from "@/ui/state";
import { Connection } from "./connection";
import { keepTerminal, keptTerminals } from "./kept";

interface Kept {
  host: HTMLElement;
  connection: Connection;
  terminal: Terminal;
  fit: () => void;
}

// the rows of the terminal are spans with colours of their own
styleSpansByScript();

const terminals = new Map<InstanceId, Kept>();

function terminalOf(id: InstanceId, box: HTMLElement, say: { missed: (bytes: number) => string }): Kept {
  const known = terminals.get(id);
  if (known) {
    box.append(known.host);
    return known;
  }
  const host = document.createElement("div");
  host.className = "h-full";
  box.append(host);
  const terminal = new Terminal({
    fontFamily: '"IBM Plex Mono", monospace',
    fontSize: 13,
    lineHeight: 1.2,
    scrollback: 5000,
    screenReaderMode: true,
    minimumContrastRatio: 4.5,
    theme: {
      background: "#171614",
      foreground: "#efeae3",
      cursor: "#efeae3",
      selectionBackground: "#4a4640",
    },
  });
  const addon = new FitAddon();
  terminal.loadAddon(addon);
  const release = adoptingStyles(() => terminal.open(host));
  const connection = new Connection(id, {
    write: (output) => terminal.write(output),
    missed: (bytes) => terminal.write(`\r\n\x1b[33m${say.missed(bytes)}\x1b[0m\r\n`),
  });
  terminal.onData((text) => connection.send(text));
  terminal.onResize(({ cols, rows }) => connection.resize(cols, rows));
  const kept = { host, connection, terminal, fit: () => addon.fit() };
  terminals.set(id, kept);
  keepTerminal(id, () => {
    terminals.delete(id);
    connection.close();
    terminal.dispose();
    release();
    host.remove();
  });
  return kept;
}

/** Keys that a phone's keyboard lacks. */
const touchKeys = [
  ["Esc", "\x1b"],
  ["Tab", "\t"],
  ["Ctrl C", "\x03"],
  ["Ctrl D", "\x04"],
  ["↑", "\x1b[A"],
  ["↓", "\x1b[B"],
] as const;

/** The terminal; it stays as it is while one looks at other tabs of the instance. */
export default function TerminalScreen({ it }: { it: Instance }) {
  "use no memo"; // the terminal lives outside of React
  const { t } = useText();
  const box = useRef<HTMLDivElement>(null);
  const kept = useRef<Kept | null>(null);
  const { id } = it;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const shown = terminalOf(id, element, { missed: (bytes) => t("instance.missedOutput", { bytes }) });
    kept.current = shown;
    shown.fit();
    shown.terminal.focus();
    const watch = new ResizeObserver(() => shown.fit());
    watch.observe(element);
    return () => {
      watch.disconnect();
      shown.host.remove();
    };
  }, [id, t]);
  return (
    <>
      <div
        ref={box}
        data-testid="terminal"
        className="h-[max(20rem,calc(100dvh-20rem))] overflow-hidden rounded-lg bg-[#171614] p-3"
      />
      <div className="mt-2 flex flex-wrap gap-1.5 md:hidden">
        {touchKeys.map(([label, text]) => (
          <Button key={label} small onClick={() => kept.current?.connection.send(text)}>
            {label}
          </Button>
        ))}
      </div>
      <Line it={it} />
    </>
  );
}

/** How the line stands, and the way back to it. */
function Line({ it }: { it: Instance }) {
  "use no memo"; // see above
  useStore(keptTerminals);
  const kept = terminals.get(it.id);
  return kept ? <LineState connection={kept.connection} it={it} /> : null;
}

function LineState({ connection, it }: { connection: Connection; it: Instance }) {
  const { t } = useText();
  const state = useStore(connection.state);
  const again = (label: string) => (
    <Button
      small
      onClick={() => {
        connection.connect();
        terminals.get(it.id)?.terminal.focus();
      }}
    >
      {label}
    </Button>
  );
  return (
    <div
      role="status"
      className="mt-2 flex min-h-7 flex-wrap items-center gap-x-4 gap-y-2 text-ink-2 text-sm"
    >
      {state.is === "connecting" && <StateMark mark="moves">{t("instance.terminalConnecting")}</StateMark>}
      {state.is === "open" && <StateMark mark="runs">{t("instance.terminalOpen")}</StateMark>}
      {state.is === "lost" && <StateMark mark="moves">{t("instance.terminalLost")}</StateMark>}
      {state.is === "ended" && (
        <>
          <StateMark mark="rests">{t("instance.terminalEnded", { code: state.code })}</StateMark>
          {again(t("instance.terminalNew"))}
        </>
      )}
      {state.is === "refused" && (
        <>
          <StateMark mark="failed">
            {state.error ? describe(state.error, t) : t("instance.terminalGone")}
          </StateMark>
          {again(
            t(state.error?.is("terminal-session-ended") ? "instance.terminalNew" : "instance.connectAgain"),
          )}
          <RequestId error={state.error} />
        </>
      )}
      {state.is === "open" && <span className="text-ink-3 text-xs">{t("instance.terminalHint")}</span>}
    </div>
  );
}
