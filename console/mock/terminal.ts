import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Backend } from "./backend.ts";
import { SESSION_COOKIE } from "./handlers/sessions.ts";
import type { Kept } from "./kept.ts";
import { acceptSocket, type MockSocket } from "./websocket.ts";

const PROMPT = "\x1b[32mroot@atelier\x1b[0m:\x1b[34m/workspace\x1b[0m# ";
const smi = [
  "+-----------------------------------------------------------------------------------------+",
  "| NVIDIA-SMI 560.35.03              Driver Version: 560.35.03      CUDA Version: 12.6     |",
  "|   0  NVIDIA GeForce RTX 3080        On  |   68C    P2   287W / 320W |   7642MiB / 10240MiB |",
  "+-----------------------------------------------------------------------------------------+",
];
const programs: Record<string, (words: string[]) => string[]> = {
  echo: (words) => [words.join(" ")],
  ls: () => ["models  outputs  prompts.txt"],
  pwd: () => ["/workspace"],
  "nvidia-smi": () => smi,
};

/** A shell that knows four programs, and goes on when its line is lost. */
class Shell {
  readonly id: string;
  output = Buffer.alloc(0);
  socket: MockSocket | null = null;
  isOver = false;
  #typed = "";

  constructor(id: string) {
    this.id = id;
    this.#write(PROMPT);
  }

  connect(socket: MockSocket, received: number) {
    this.socket = socket;
    socket.send(JSON.stringify({ session: { id: this.id, offset: received } }));
    const rest = this.output.subarray(received);
    if (rest.length > 0) socket.send(rest);
  }

  #write(text: string) {
    const bytes = Buffer.from(text);
    this.output = Buffer.concat([this.output, bytes]);
    this.socket?.send(bytes);
  }

  type(bytes: Uint8Array) {
    for (const key of Buffer.from(bytes).toString()) {
      if (key === "\r") this.#run();
      else if (key === "\x7f") {
        if (this.#typed) this.#write("\b \b");
        this.#typed = this.#typed.slice(0, -1);
      } else if (key >= " ") {
        this.#typed += key;
        this.#write(key);
      }
    }
  }

  #run() {
    const [name = "", ...words] = this.#typed.trim().split(/\s+/);
    this.#typed = "";
    this.#write("\r\n");
    if (name === "exit") {
      this.isOver = true;
      this.socket?.send(JSON.stringify({ exit_code: Number(words[0] ?? 0) }));
      this.socket?.close(1000);
      return;
    }
    const lines = name ? (programs[name]?.(words) ?? [`bash: ${name}: command not found`]) : [];
    this.#write(lines.map((line) => `${line}\r\n`).join("") + PROMPT);
  }
}

const shells = new Map<string, Shell>();

const refuse = (stream: Duplex, status: string) => stream.end(`HTTP/1.1 ${status}\r\n\r\n`);

/** Opens a terminal, or continues one. */
export function openTerminal(backendOf: (name: string) => Backend, request: IncomingMessage, stream: Duplex) {
  const url = new URL(request.url ?? "/", "http://localhost");
  const cookies = new Map(
    (request.headers.cookie ?? "").split(";").map((pair) => pair.trim().split("=", 2) as [string, string]),
  );
  const backend = backendOf(cookies.get("backend") ?? "");
  const session = backend.sessions.find((it) => it.secret === cookies.get(SESSION_COOKIE));
  const id = url.pathname.split("/")[3];
  const kept: Kept | undefined = backend.instances.find(
    (one) => one.it.id === id && one.tenant_id === session?.tenant_id,
  );
  if (!session) return refuse(stream, "401 Unauthorized");
  if (!kept) return refuse(stream, "404 Not Found");
  if (kept.it.state !== "running") return refuse(stream, "409 Conflict");
  const wanted = url.searchParams.get("session");
  const shell = wanted ? shells.get(wanted) : new Shell(`term_${crypto.randomUUID().replaceAll("-", "")}`);
  if (!shell || shell.isOver) return refuse(stream, "410 Gone");
  shells.set(shell.id, shell);
  acceptSocket(request, stream, (socket) => {
    backend.terminals.add(stream);
    queueMicrotask(() => shell.connect(socket, Number(url.searchParams.get("received") ?? 0)));
    return {
      onFrame: (data) => typeof data !== "string" && shell.type(data),
      onClose: () => {
        backend.terminals.delete(stream);
        if (shell.socket === socket) shell.socket = null;
      },
    };
  });
}
