import { environment } from "@/api/client";
import type { InstanceId } from "@/api/generated/types";
import { type ApiError, problemOf } from "@/api/problem";
import { createStore } from "@/lib/store";
import { addressOf, fresh, hear, type Session, sizeFrame } from "./protocol";

export type ConnectionState =
  | { is: "connecting" | "open" | "lost" }
  | { is: "ended"; code: number }
  /** It cannot be opened, or not be continued. */
  | { is: "refused"; error: ApiError | null };

/** Attempts to find a lost line again by itself; the command goes on for a minute. */
const TRIES = 5;
/** Closed by us for another reason than the end: the command goes on for a minute. */
const LEFT = 4000;

/** One terminal: what arrives goes to the screen, what is typed to the instance. */
export class Connection {
  readonly state = createStore<ConnectionState>({ is: "connecting" });
  readonly #id: InstanceId;
  readonly #write: (output: Uint8Array | string) => void;
  readonly #missed: (bytes: number) => void;
  #session: Session = fresh;
  #socket: WebSocket | null = null;
  #size: [number, number] = [80, 24];
  #tries = 0;
  #isClosed = false;

  constructor(
    id: InstanceId,
    on: { write: (output: Uint8Array | string) => void; missed: (bytes: number) => void },
  ) {
    this.#id = id;
    this.#write = on.write;
    this.#missed = on.missed;
    this.connect();
  }

  connect() {
    const { is } = this.state.get();
    // what has ended, or is not kept any more, begins anew
    if (is === "ended" || is === "refused") this.#session = fresh;
    this.state.set({ is: this.#session.id ? "lost" : "connecting" });
    const url = new URL(addressOf(this.#id, this.#session), location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url);
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    let opened = false;
    socket.onopen = () => {
      opened = true;
      this.#tries = 0;
      socket.send(sizeFrame(...this.#size));
      this.state.set({ is: "open" });
    };
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      const { session, output, missed } = hear(this.#session, data);
      this.#session = session;
      if (missed) this.#missed(missed);
      if (output) this.#write(output);
    };
    socket.onclose = () => {
      if (this.#isClosed || socket !== this.#socket) return;
      if (this.#session.exit !== null) this.state.set({ is: "ended", code: this.#session.exit });
      else void this.#lost(opened);
    };
  }

  /** A WebSocket does not say why it was refused; the same address, asked as a page, does. */
  async #lost(opened: boolean) {
    this.state.set({ is: "lost" });
    if (!opened) {
      const answer = await environment
        .fetch(addressOf(this.#id, this.#session), { credentials: "same-origin", cache: "no-store" })
        .catch(() => null);
      if (this.#isClosed) return;
      if (answer && answer.status >= 400 && answer.status < 500 && answer.status !== 426) {
        this.state.set({ is: "refused", error: await problemOf(answer) });
        return;
      }
    }
    if (++this.#tries > TRIES) {
      this.state.set({ is: "refused", error: null });
      return;
    }
    await environment.wait(Math.min(8, 0.5 * 2 ** this.#tries));
    if (!this.#isClosed && this.state.get().is === "lost") this.connect();
  }

  send(text: string) {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(new TextEncoder().encode(text));
  }

  resize(cols: number, rows: number) {
    this.#size = [cols, rows];
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(sizeFrame(cols, rows));
  }

  close() {
    this.#isClosed = true;
    this.#socket?.close(LEFT);
  }
}
