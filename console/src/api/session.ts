import { queryOptions } from "@tanstack/react-query";
import { createContext, useContext } from "react";
import { leaveTo } from "@/lib/leave";
import { call } from "./client";
import { endSession, getMe, listReceivedInvitations } from "./generated/operations";
import type { Me } from "./generated/types";
import { ApiError } from "./problem";

export const me = queryOptions({
  queryKey: ["me"],
  staleTime: 60_000,
  queryFn: ({ signal }) => call(getMe, {}, { signal, anonymous: true }),
});

export const receivedInvitations = queryOptions({
  queryKey: ["me", "invitations"],
  queryFn: ({ signal }) => call(listReceivedInvitations, { query: { limit: 100 } }, { signal }),
});

/** Given by the shell, once: hundreds of parts of a page ask who calls. */
export const CallerContext = createContext<Me | null>(null);

export function useMe(): Me {
  const caller = useContext(CallerContext);
  if (!caller) throw new Error("only pages after the sign-in know who calls");
  return caller;
}

/** Null for a visitor. Pages for everybody ask once. */
export const caller = queryOptions({
  queryKey: ["caller"],
  staleTime: 60_000,
  queryFn: ({ client }): Promise<Me | null> =>
    client.ensureQueryData(me).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 401) return null;
      throw error;
    }),
});

type Change = "signed-out" | "session-changed";
const channel = new BroadcastChannel("atelier-session");

/** Every tab has the same cookie. What was read with it before is of no use: pages start anew. */
function start(change: Change) {
  leaveTo(change === "signed-out" ? "/sign-in?ended=true" : "/");
}

/** The session has ended, or is for another tenant or person now. */
export function sessionChanged(change: Change) {
  channel.postMessage(change);
  start(change);
}

export function followSession() {
  channel.onmessage = ({ data }: MessageEvent<Change>) => start(data);
}

export async function signOut() {
  await call(endSession, {}, { anonymous: true });
  sessionChanged("signed-out");
}

/** A path of ours, or `/`: whoever sends a link must not choose where it ends. */
export function safePath(path: string | undefined): string {
  if (!path?.startsWith("/") || /^\/[/\\]/.test(path)) return "/";
  const url = new URL(path, location.origin);
  return url.origin === location.origin ? url.pathname + url.search + url.hash : "/";
}
