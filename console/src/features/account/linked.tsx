import { useState } from "react";
import { call } from "@/api/client";
import { deleteLinkedAccount, startAccountLink } from "@/api/generated/operations";
import type { LinkedAccount, SignInProvider } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { providers } from "@/features/sign-in/queries";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { Panel, Row, Section } from "@/ui/page";
import { notify } from "@/ui/toast";
import { linkedAccounts } from "./queries";

/** Absent on platforms without providers, unless something is linked from before. */
export function LinkedAccounts() {
  const { t } = useText();
  const offered = useLoaded(providers).items;
  const linked = useLoaded(linkedAccounts).items;
  const free = offered.filter((it) => !linked.some((account) => account.provider === it.id));
  if (offered.length + linked.length === 0) return null;
  return (
    <Section title={t("account.linked")} hint={t("account.linkedHint")}>
      <Panel>
        {linked.map((account) => (
          <Linked
            key={account.id}
            account={account}
            name={offered.find((it) => it.id === account.provider)?.name ?? account.issuer}
          />
        ))}
        {free.map((provider) => (
          <Free key={provider.id} provider={provider} />
        ))}
      </Panel>
    </Section>
  );
}

function Linked({ account, name }: { account: LinkedAccount; name: string }) {
  const { t } = useText();
  const now = useNow();
  const { day, relative } = useFormat();
  const [open, setOpen] = useState(false);
  const unlink = useAct((_: void, key) => call(deleteLinkedAccount, { path: { id: account.id } }, { key }), {
    touches: [linkedAccounts.queryKey],
    onDone: () => notify({ title: t("account.unlinked", { name }) }),
  });
  const since = t("account.linkedSince", {
    day: day(account.created_at),
    when: relative(account.last_used_at, now),
  });
  return (
    <Row
      title={<span className="font-medium">{name}</span>}
      hint={<span className="num">{account.provider ? since : t("account.linkedGone")}</span>}
    >
      <Button small onClick={() => setOpen(true)}>
        {t("account.unlink")}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        onConfirm={() => unlink.run()}
        busy={unlink.busy}
        error={unlink.error}
        title={t("account.unlinkTitle", { name })}
        verb={t("account.unlink")}
      >
        <p>{t("account.unlinkHint")}</p>
      </ConfirmDialog>
    </Row>
  );
}

function Free({ provider }: { provider: SignInProvider }) {
  const { t } = useText();
  const link = useAct(
    () => call(startAccountLink, { body: { provider: provider.id, return_to: "/account/sign-in" } }),
    {
      onDone: ({ url }) => location.assign(url),
      onFailed: (error) => notify({ failed: true, title: provider.name, detail: describe(error, t) }),
    },
  );
  return (
    <Row title={<span className="font-medium">{provider.name}</span>} hint={t("account.linkedNone")}>
      <Button small busy={link.busy} onClick={() => link.run()}>
        {t("account.link")}
      </Button>
    </Row>
  );
}
