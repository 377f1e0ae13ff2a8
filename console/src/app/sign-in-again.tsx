import { useEffect, useState } from "react";
import { environment } from "@/api/client";
import { useMe } from "@/api/session";
import { SignInForm } from "@/features/sign-in/form";
import { useText } from "@/i18n";
import { Dialog } from "@/ui/dialog";

interface Asked {
  why: "session-ended" | "recent-sign-in-required";
  done: () => void;
  refuse: (error: Error) => void;
}

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
  const { t } = useText();
  const me = useMe();
  const [asked, setAsked] = useState<Asked | null>(null);
  useEffect(() => {
    const end = () => setAsked(null);
    const asks = {
      "session-ended": once((asked) => setAsked({ why: "session-ended", ...asked }), end),
      "recent-sign-in-required": once((asked) => setAsked({ why: "recent-sign-in-required", ...asked }), end),
    };
    environment.signInAgain = (why) => asks[why]();
  }, []);
  const isEnded = asked?.why === "session-ended";
  return (
    <Dialog
      open={asked !== null}
      onClose={() => asked?.refuse(new Error("the person did not sign in again"))}
      title={isEnded ? t("nav.sessionEnded") : t("nav.confirmYou")}
      description={isEnded ? t("nav.sessionEndedHint") : t("nav.confirmYouHint")}
    >
      <SignInForm email={me.user.email} tenant={me.tenant_id} onDone={() => asked?.done()} />
    </Dialog>
  );
}
