import { useState } from "react";
import { call } from "@/api/client";
import { endSessionById } from "@/api/generated/operations";
import type { Session } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import { useText } from "@/i18n";
import { clientName } from "@/lib/client-name";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { Panel, Row, Section } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { notify } from "@/ui/toast";
import { sessions } from "./queries";

export function SessionsPage() {
  const { t } = useText();
  const { items } = useLoaded(sessions);
  const others = items.filter((it) => !it.current);
  const sorted = [...items].sort(
    (a, b) => Number(b.current) - Number(a.current) || b.last_used_at.localeCompare(a.last_used_at),
  );
  return (
    <Section
      title={t("account.sessions")}
      hint={t("account.sessionsSummary", { count: items.length })}
      actions={<EndOthers others={others} />}
    >
      <Panel>
        {sorted.map((session) => (
          <OneSession key={session.id} session={session} />
        ))}
      </Panel>
    </Section>
  );
}

function OneSession({ session }: { session: Session }) {
  const { t } = useText();
  const now = useNow();
  const { day, relative } = useFormat();
  const client = clientName(session.user_agent, t);
  const end = useAct((_: void, key) => call(endSessionById, { path: { id: session.id } }, { key }), {
    touches: [sessions.queryKey],
    onDone: () => notify({ title: t("account.sessionEnded") }),
    onFailed: (error) => notify({ failed: true, title: client, detail: describe(error, t) }),
  });
  const facts = [
    session.cookie ? t("account.sessionBrowser") : t("account.sessionTokens"),
    session.address && t("account.sessionFrom", { address: session.address }),
    `${t("account.sessionUsed")} ${relative(session.last_used_at, now)}`,
  ];
  return (
    <Row
      title={<span className="font-medium">{client}</span>}
      hint={
        <>
          <span className="num block">{facts.filter(Boolean).join(" · ")}</span>
          <span className="num block">
            {t("account.sessionStarted")} {day(session.created_at)} · {t("account.sessionEnds")}{" "}
            {day(session.expires_at)}
          </span>
        </>
      }
    >
      {session.current ? (
        <StateMark mark="runs">{t("account.sessionThis")}</StateMark>
      ) : (
        <Button
          small
          busy={end.busy}
          aria-label={t("account.sessionEndOf", { client })}
          onClick={() => end.run()}
        >
          {t("account.sessionEnd")}
        </Button>
      )}
    </Row>
  );
}

/** One by one: the API's own "end all" would end this one too. */
function EndOthers({ others }: { others: readonly Session[] }) {
  const { t } = useText();
  const [open, setOpen] = useState(false);
  const end = useAct(() => Promise.all(others.map(({ id }) => call(endSessionById, { path: { id } }))), {
    touches: [sessions.queryKey],
    onDone: () => {
      setOpen(false);
      notify({ title: t("account.sessionsEnded") });
    },
  });
  return (
    <>
      <Button disabled={others.length === 0 && t("account.sessionsNoOthers")} onClick={() => setOpen(true)}>
        {t("account.sessionsEndOthers")}
      </Button>
      <ConfirmDialog
        open={open}
        onClose={() => setOpen(false)}
        onConfirm={() => end.run()}
        busy={end.busy}
        error={end.error}
        title={t("account.sessionsEndOthersTitle")}
        verb={t("account.sessionsEndOthers")}
      >
        <p>{t("account.sessionsEndOthersHint", { count: others.length })}</p>
      </ConfirmDialog>
    </>
  );
}
