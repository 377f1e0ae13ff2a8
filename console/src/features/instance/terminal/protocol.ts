import type { InstanceId } from "@/api/generated/types";

/** What is known of a terminal: enough to connect to it again. */
export interface Session {
  id: string | null;
  /** Bytes of output that have arrived. */
  received: number;
  exit: number | null;
}

export const fresh: Session = { id: null, received: 0, exit: null };

export interface Heard {
  session: Session;
  output?: Uint8Array;
  /** So many bytes of output were lost while the line was. */
  missed?: number;
}

/** Takes a frame of the server: text speaks about the session, bytes are output. */
export function hear(session: Session, frame: string | ArrayBuffer): Heard {
  if (typeof frame !== "string")
    return {
      session: { ...session, received: session.received + frame.byteLength },
      output: new Uint8Array(frame),
    };
  const told = JSON.parse(frame) as { session?: { id: string; offset: number }; exit_code?: number };
  if (told.session) {
    const { id, offset } = told.session;
    const missed = session.id === id ? Math.max(0, offset - session.received) : 0;
    return { session: { id, received: offset, exit: null }, ...(missed > 0 && { missed }) };
  }
  return told.exit_code === undefined ? { session } : { session: { ...session, exit: told.exit_code } };
}

export const sizeFrame = (cols: number, rows: number) => JSON.stringify({ resize: { cols, rows } });

/** Where a terminal is opened, or continued. */
export function addressOf(id: InstanceId, { id: session, received }: Session): string {
  const path = `/v1/instances/${id}/terminal`;
  return session ? `${path}?${new URLSearchParams({ session, received: String(received) })}` : path;
}
