import { Outlet } from "@tanstack/react-router";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { PageHead, TabLinks } from "@/ui/page";

export function AccountLayout() {
  const { t } = useText();
  const { user } = useMe();
  return (
    <>
      <PageHead title={t("account.title")}>
        {t("account.summary", { name: user.display_name, email: user.email })}
      </PageHead>
      <TabLinks
        label={t("account.tabs")}
        tabs={[
          { label: t("nav.accountProfile"), link: { to: "/account" } },
          { label: t("nav.accountSignIn"), link: { to: "/account/sign-in" } },
          { label: t("nav.accountSsh"), link: { to: "/account/ssh-keys" } },
          { label: t("nav.accountSessions"), link: { to: "/account/sessions" } },
        ]}
      />
      <div className="max-w-176">
        <Outlet />
      </div>
    </>
  );
}
