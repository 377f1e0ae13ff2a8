import { useMe } from "@/api/session";
import { SignInForm } from "@/features/sign-in/form";
import { useText } from "@/i18n";
import { Dialog } from "@/ui/dialog";
import type { Asked } from "./asked";

export default function SignInDialog({ asked }: { asked: Asked }) {
  const { t } = useText();
  const me = useMe();
  const isEnded = asked.why === "session-ended";
  return (
    <Dialog
      open
      onClose={() => asked.refuse(new Error("the person did not sign in again"))}
      title={isEnded ? t("nav.sessionEnded") : t("nav.confirmYou")}
      description={isEnded ? t("nav.sessionEndedHint") : t("nav.confirmYouHint")}
    >
      <SignInForm email={me.user.email} tenant={me.tenant_id} onDone={asked.done} />
    </Dialog>
  );
}
