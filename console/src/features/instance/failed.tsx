import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { services } from "@/api/catalogue";
import type { Instance } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useMe } from "@/api/session";
import { type InstanceAction, useInstanceActs, whyNotNow } from "@/domain/instances/acts";
import { type Advice, adviceFor } from "@/domain/instances/advice";
import { changeAndStart } from "@/domain/instances/change";
import { reasonOf, standingOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, ButtonLink } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { ErrorLine } from "@/ui/error";
import { LogBox } from "@/ui/log-box";
import { Panel, Section } from "@/ui/page";

/** Why it failed, and the last lines of its log. */
export function FailedReason({ it }: { it: Instance }) {
  const { t, language } = useText();
  const title = reasonOf({ reason: it.reason, message: null }, t, language);
  const sentence = reasonOf(it, t, language);
  const tail = it.log_tail?.trimEnd();
  return (
    <>
      <div className="rounded-lg border border-vermilion bg-vermilion-wash px-4 py-3.5 max-md:-order-2">
        <h2 className="font-medium text-base text-vermilion">{title ?? t(standingOf(it).word)}</h2>
        {sentence && sentence !== title && <p className="max-w-[80ch] text-sm">{sentence}</p>}
      </div>
      {tail && (
        <Section
          title={t("instance.lastLines")}
          actions={
            <Link
              to="/instances/$id/log"
              params={{ id: it.id }}
              className="text-sm text-ultra hover:underline"
            >
              {t("instance.wholeLog")}
            </Link>
          }
        >
          <Panel className="py-2.5">
            <LogBox label={t("instance.lastLines")} text={tail} />
          </Panel>
        </Section>
      )}
    </>
  );
}

/** What helps with this reason, with the price of what spends. */
export function WhatToDo({ it }: { it: Instance }) {
  const { t } = useText();
  const { data: offered } = useQuery(services);
  const client = useQueryClient();
  const change = useAct((wanted: { version?: string; gpu_spec?: string }, key) =>
    changeAndStart(client, it, wanted, key),
  );
  const advice = adviceFor(it, offered ?? []);
  return (
    <Section title={t("instance.whatToDo")}>
      <Panel>
        <ul>
          {advice.map((one, i) => (
            <Item
              key={"of" in one ? one.of.gpu_spec.id : one.kind}
              it={it}
              advice={one}
              first={i === 0}
              change={change}
            />
          ))}
        </ul>
        {change.error != null && <ErrorLine error={change.error} className="m-3" />}
      </Panel>
    </Section>
  );
}

function Item({
  it,
  advice,
  first,
  change,
}: {
  it: Instance;
  advice: Advice;
  first: boolean;
  change: { run: (wanted: { version?: string; gpu_spec?: string }) => void; busy: boolean };
}) {
  const { t } = useText();
  const { money } = useFormat();
  const me = useMe();
  const act = useInstanceActs();
  const why = (action: InstanceAction) => whyNotNow(me, it, action, t);
  const price = t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
  const kind = first ? "primary" : "plain";
  switch (advice.kind) {
    case "version":
      return (
        <Do title={t("instance.doVersion", { version: advice.version })} hint={t("instance.doVersionHint")}>
          <Button
            small
            kind={kind}
            busy={change.busy}
            disabled={why("start")}
            onClick={() => change.run({ version: advice.version })}
          >
            {t("instance.startVersion", { version: advice.version, price })}
          </Button>
        </Do>
      );
    case "again":
      return (
        <Do title={t(first ? "instance.doAgain" : "instance.doAgainSame")} hint={t("instance.doAgainHint")}>
          <Button small kind={kind} disabled={why("start")} onClick={() => act("start", it)}>
            {t("instance.startAgain", { price })}
          </Button>
        </Do>
      );
    case "wait":
      return (
        <Do title={t("instance.doWait")} hint={t("instances.startWhenRoomHint")}>
          <Button small kind={kind} disabled={why("start")} onClick={() => act("wait", it)}>
            {t("instances.startWhenRoom", { price })}
          </Button>
        </Do>
      );
    case "instead": {
      const { gpu_spec, datacenter, available, price_per_hour, currency } = advice.of;
      const other = t("ui.perHour", { price: money(price_per_hour, currency) });
      return (
        <Do
          title={t("instance.doInstead", { gpu: gpu_spec.name })}
          hint={t("instance.doInsteadHint", { count: available, datacenter: datacenter.name })}
        >
          <Button
            small
            kind={kind}
            busy={change.busy}
            disabled={why("start")}
            onClick={() => change.run({ gpu_spec: gpu_spec.name })}
          >
            {t("instance.startInstead", { price: other })}
          </Button>
        </Do>
      );
    }
    case "settings":
      return (
        <Do title={t("instance.doSettings")} hint={t("instance.doSettingsHint")}>
          <ButtonLink small to="/instances/$id/settings" params={{ id: it.id }}>
            {t("instance.openSettings")}
          </ButtonLink>
        </Do>
      );
    case "log":
      return (
        <Do title={t("instance.doLog")} hint={t("instance.doLogHint")}>
          <ButtonLink small to="/instances/$id/log" params={{ id: it.id }}>
            {t("instance.openLog")}
          </ButtonLink>
        </Do>
      );
    case "ask":
      return (
        <Do title={t("instance.doAsk")} hint={t("instance.doAskHint")}>
          <CopyButton small text={`${it.id} ${it.operation_id}`} label={t("instance.copyIds")} />
        </Do>
      );
  }
}

function Do({ title, hint, children }: { title: string; hint: string; children: ReactNode }) {
  return (
    <li className="border-line border-b p-3 last:border-b-0">
      <h3 className="font-medium text-sm">{title}</h3>
      <p className="mt-0.5 mb-2.5 text-ink-2 text-xs">{hint}</p>
      {children}
    </li>
  );
}
