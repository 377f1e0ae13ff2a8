import { getRouteApi } from "@tanstack/react-router";
import { useText } from "@/i18n";
import { knownProblem } from "@/ui/error";
import { Panel, Section } from "@/ui/page";
import { LinkedAccounts } from "./linked";
import { Passkeys } from "./passkeys";
import { PasswordRow } from "./password";
import { SecondFactorRow } from "./second-factor";

const route = getRouteApi("/_app/account/sign-in");

export function SignInMethodsPage() {
  const { t } = useText();
  const { sign_in_error } = route.useSearch();
  return (
    <>
      {sign_in_error && (
        <p
          role="alert"
          className="mb-4 rounded-md border border-vermilion bg-vermilion-wash px-3 py-2 text-sm text-vermilion"
        >
          {knownProblem(sign_in_error, t) ?? t("problems.sign-in-failed")}
        </p>
      )}
      <Section title={t("account.passwordSection")}>
        <Panel>
          <PasswordRow />
          <SecondFactorRow />
        </Panel>
      </Section>
      <Passkeys />
      <LinkedAccounts />
    </>
  );
}
