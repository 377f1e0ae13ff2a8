import { KeyRound } from "lucide-react";
import { call } from "@/api/client";
import { createPasskeySession } from "@/api/generated/operations";
import type { SessionTokens, TenantId } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { answerChallenge, hasPasskeys, PasskeyCancelled } from "./passkey";

export function PasskeyButton({
  tenant,
  onDone,
}: {
  tenant: TenantId | null;
  onDone: (session: SessionTokens) => void;
}) {
  const { t } = useText();
  const signIn = useAct(
    async (_: void, key) =>
      call(
        createPasskeySession,
        { body: { credential: await answerChallenge(), cookie: true, ...(tenant && { tenant_id: tenant }) } },
        { anonymous: true, key },
      ),
    { onDone },
  );
  const isCancelled = signIn.error instanceof PasskeyCancelled;
  return (
    <>
      <Button
        className="w-full"
        busy={signIn.busy}
        disabled={!hasPasskeys() && t("signIn.passkeyNone")}
        onClick={() => signIn.run()}
      >
        <KeyRound className="size-4" aria-hidden="true" />
        {t("signIn.passkey")}
      </Button>
      {isCancelled && (
        <p role="alert" className="text-ink-2 text-sm">
          {t("signIn.passkeyCancelled")}
        </p>
      )}
      {signIn.error && !isCancelled && <ErrorLine error={signIn.error} />}
    </>
  );
}
