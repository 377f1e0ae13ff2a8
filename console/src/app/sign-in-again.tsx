import { useEffect, useState } from "react";
import { call, environment } from "@/api/client";
import { endSessionById, listSessions } from "@/api/generated/operations";
import { drawnLater } from "@/lib/later";
import type { Asked } from "./asked";

const SignInDialog = drawnLater(() => import("./sign-in-dialog"));

/** Requests that fail together wait for one sign-in. */
function once(ask: (asked: Omit<Asked, "why">) => void, end: () => void): () => Promise<void> {
  let pending: Promise<void> | null = null;
  return () => {
    pending ??= new Promise<void>((done, refuse) => ask({ done, refuse })).finally(() => {
      pending = null;
      end();
    });
    return pending;
  };
}

/** Asks for a sign-in over the page, and lets the request that needed it go on. Nothing on the page is lost. */
export function SignInAgain() {
  const [asked, setAsked] = useState<Asked | null>(null);
  useEffect(() => {
    const end = () => setAsked(null);
    const asks = {
      "session-ended": once((asked) => setAsked({ why: "session-ended", ...asked }), end),
      "recent-sign-in-required": once((asked) => setAsked({ why: "recent-sign-in-required", ...asked }), end),
    };
    environment.signInAgain = async (why) => {
      if (why === "session-ended") return asks[why]();
      const { items } = await call(listSessions, { query: { limit: 100 } });
      await asks[why]();
      // the new session takes the place of this one
      const before = items.find((it) => it.current);
      if (before) await call(endSessionById, { path: { id: before.id } });
    };
  }, []);
  return asked && <SignInDialog asked={asked} />;
}
