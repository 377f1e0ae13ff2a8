import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { updateMe } from "@/api/generated/operations";
import { useAct } from "@/api/query";
import { me as meQuery, useMe } from "@/api/session";
import { useLanguageChoice } from "@/app/language";
import { roleWord } from "@/app/roles";
import { languages, useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { useStore } from "@/lib/store";
import { setTheme, theme, themes } from "@/lib/theme";
import { Button } from "@/ui/button";
import { CopyIconButton } from "@/ui/copy";
import { NameDialog } from "@/ui/name-dialog";
import { Panel, Row, Section } from "@/ui/page";
import { Select } from "@/ui/select";
import { notify } from "@/ui/toast";

export function ProfilePage() {
  const { t } = useText();
  const { user } = useMe();
  return (
    <>
      <Section title={t("account.profile")}>
        <Panel>
          <Name />
          <Row title={t("account.email")} hint={t("account.emailHint")}>
            <span className="text-sm">{user.email}</span>
          </Row>
          <Row title={t("account.userId")}>
            <code className="font-mono text-ink-2 text-xs">{shortId(user.id)}</code>
            <CopyIconButton text={user.id} label={t("account.copyUserId")} />
          </Row>
        </Panel>
      </Section>
      <Looks />
      <Studios />
    </>
  );
}

function Name() {
  const { t } = useText();
  const { user } = useMe();
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const rename = useAct((name: string, key) => call(updateMe, { body: { display_name: name } }, { key }), {
    onDone: (answer) => {
      client.setQueryData(meQuery.queryKey, answer);
      void client.invalidateQueries({ queryKey: ["members"] });
      setOpen(false);
      notify({ title: t("account.saved") });
    },
  });
  return (
    <Row title={t("account.name")} hint={t("account.nameHint")}>
      <span className="text-sm">{user.display_name}</span>
      <Button small onClick={() => setOpen(true)}>
        {t("account.change")}
      </Button>
      {open && (
        <NameDialog
          title={t("account.name")}
          hint={t("account.nameHint")}
          initial={user.display_name}
          label={t("account.name")}
          longest={100}
          wrong={t("account.nameMissing")}
          busy={rename.busy}
          error={rename.error}
          onSend={rename.run}
          onClose={() => setOpen(false)}
        />
      )}
    </Row>
  );
}

function Looks() {
  const { t, language } = useText();
  const choose = useLanguageChoice();
  const look = useStore(theme);
  const words = { system: t("nav.themeSystem"), light: t("nav.themeLight"), dark: t("nav.themeDark") };
  return (
    <Section title={t("account.looks")}>
      <Panel>
        <Row title={t("nav.language")} hint={t("account.languageHint")}>
          <div className="w-44">
            <Select
              label={t("nav.language")}
              value={language}
              onChange={choose}
              choices={(Object.keys(languages) as (keyof typeof languages)[]).map((value) => ({
                value,
                label: languages[value],
              }))}
            />
          </div>
        </Row>
        <Row title={t("nav.theme")} hint={t("account.themeHint")}>
          <div className="w-44">
            <Select
              label={t("nav.theme")}
              value={look}
              onChange={setTheme}
              choices={themes.map((value) => ({ value, label: words[value] }))}
            />
          </div>
        </Row>
      </Panel>
    </Section>
  );
}

function Studios() {
  const { t } = useText();
  const me = useMe();
  if (me.memberships.length === 0) return null;
  const hints = {
    owner: t("signIn.roleOwner"),
    member: t("signIn.roleMember"),
    viewer: t("signIn.roleViewer"),
  };
  return (
    <Section title={t("account.studios")} hint={t("account.studiosHint")}>
      <Panel>
        {me.memberships.map(({ tenant, role }) => (
          <Row
            key={tenant.id}
            title={
              <>
                <span className="font-medium">{tenant.name}</span>
                {tenant.id === me.tenant_id && (
                  <span className="ml-2 text-ink-3 text-xs">{t("account.current")}</span>
                )}
              </>
            }
            hint={hints[role]}
          >
            <span className="text-ink-2 text-sm">{roleWord(role, t)}</span>
          </Row>
        ))}
      </Panel>
    </Section>
  );
}
