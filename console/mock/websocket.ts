import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

const MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

export interface MockSocket {
  send: (data: string | Uint8Array) => void;
  close: (code: number) => void;
}

export interface SocketEvents {
  onFrame: (data: string | Uint8Array) => void;
  onClose: () => void;
}

/** The server's half of RFC 6455, as far as a stand-in needs it: short frames, whole messages. */
export function acceptSocket(
  request: IncomingMessage,
  stream: Duplex,
  begin: (socket: MockSocket) => SocketEvents,
) {
  const key = createHash("sha1").update(`${request.headers["sec-websocket-key"]}${MAGIC}`).digest("base64");
  stream.write(
    `HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${key}\r\n\r\n`,
  );
  const events = begin({
    send: (data) =>
      stream.write(typeof data === "string" ? frame(1, Buffer.from(data)) : frame(2, Buffer.from(data))),
    close: (code) => {
      const body = Buffer.alloc(2);
      body.writeUInt16BE(code);
      stream.write(frame(8, body));
      stream.end();
    },
  });
  let rest = Buffer.alloc(0);
  stream.on("data", (piece: Buffer) => {
    rest = Buffer.concat([rest, piece]);
    for (let taken = take(rest); taken; taken = take(rest)) {
      rest = rest.subarray(taken.length);
      if (taken.opcode === 8) stream.end();
      else if (taken.opcode === 1) events.onFrame(taken.body.toString());
      else if (taken.opcode === 2) events.onFrame(taken.body);
    }
  });
  stream.on("close", events.onClose);
  stream.on("error", () => stream.destroy());
}

function frame(opcode: number, body: Buffer): Buffer {
  const head =
    body.length < 126
      ? Buffer.from([0x80 | opcode, body.length])
      : Buffer.from([0x80 | opcode, 126, body.length >> 8, body.length & 255]);
  return Buffer.concat([head, body]);
}

/** The first frame of what has arrived; frames of browsers are masked. */
function take(from: Buffer): { opcode: number; body: Buffer; length: number } | null {
  if (from.length < 6) return null;
  let at = 2;
  let size = (from[1] as number) & 127;
  if (size === 126) {
    size = from.readUInt16BE(2);
    at = 4;
  }
  const length = at + 4 + size;
  if (from.length < length) return null;
  const mask = from.subarray(at, at + 4);
  const body = Buffer.from(from.subarray(at + 4, length));
  for (let i = 0; i < body.length; i++) body[i] = (body[i] as number) ^ (mask[i % 4] as number);
  return { opcode: (from[0] as number) & 15, body, length };
}
