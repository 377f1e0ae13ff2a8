import { getRouteApi } from "@tanstack/react-router";
import { Send } from "lucide-react";
import type { ReactNode } from "react";
import type { Webhook, WebhookId } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useWhyNot } from "@/app/roles";
import { useMakerName } from "@/domain/maker";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { drawnLater } from "@/lib/later";
import { Button } from "@/ui/button";
import { CodeSamples } from "@/ui/code-samples";
import { PageHead, Section } from "@/ui/page";
import { useTest } from "./acts";
import { Deliveries } from "./deliveries";
import { WebhookMenu } from "./menu";
import { webhook } from "./queries";
import { verifySamples } from "./samples";
import { shortUrl } from "./standing";
import { WebhookState } from "./state";
import { TestResult } from "./test-result";
import { Trouble } from "./trouble";

const ChangeWebhook = drawnLater(() => import("./change"));

const route = getRouteApi("/_app/webhooks/$id");

export function WebhookPage({ id }: { id: WebhookId }) {
  const { t } = useText();
  const it = useLoaded(webhook(id));
  const { open, state, delivery } = route.useSearch();
  const navigate = route.useNavigate();
  const reason = useWhyNot("webhooks.write");
  const test = useTest(it);
  const go = (search: { open?: "change"; state?: typeof state; delivery?: string }) =>
    void navigate({ search, replace: true, resetScroll: false });
  return (
    <>
      <PageHead
        title={shortUrl(it.url)}
        up={{ label: t("webhooks.title"), link: { to: "/webhooks" } }}
        mark={<WebhookState it={it} bare />}
        actions={
          <>
            <Button kind="primary" disabled={reason} busy={test.busy} onClick={() => test.run()}>
              <Send className="size-4" aria-hidden="true" />
              {t("webhooks.test")}
            </Button>
            <Button disabled={reason} onClick={() => go({ state, delivery, open: "change" })}>
              {t("webhooks.change")}
            </Button>
            <WebhookMenu it={it} />
          </>
        }
      >
        <Sentence it={it} />
      </PageHead>
      <Facts it={it} />
      <Trouble it={it} />
      <TestResult id={id} delivery={delivery} />
      <Deliveries
        id={id}
        state={state}
        unfolded={delivery}
        onState={(next) => go({ state: next })}
        onUnfold={(next) => go({ state, delivery: next })}
      />
      <Section title={t("webhooks.verify")} hint={t("webhooks.verifyHint")}>
        <CodeSamples label={t("webhooks.samples")} samples={verifySamples(it.url)} />
      </Section>
      {open === "change" && !reason && <ChangeWebhook it={it} onClose={() => go({ state, delivery })} />}
    </>
  );
}

function Sentence({ it }: { it: Webhook }) {
  const { t } = useText();
  const now = useNow();
  const { relative } = useFormat();
  return it.last_success_at
    ? t("webhooks.sentence", { time: relative(it.last_success_at, now) })
    : t("webhooks.sentenceNever");
}

function Facts({ it }: { it: Webhook }) {
  const { t } = useText();
  const { day, time } = useFormat();
  const makerOf = useMakerName();
  const facts: (readonly [string, ReactNode])[] = [
    [t("webhooks.events"), it.events.length > 0 ? it.events.join(", ") : t("webhooks.allEvents")],
    [t("webhooks.madeBy"), makerOf(it)],
    [t("webhooks.created"), day(it.created_at)],
    ...(it.previous_secret_until
      ? [[t("webhooks.secret"), t("webhooks.secretBoth", { time: time(it.previous_secret_until) })] as const]
      : []),
  ];
  return (
    <dl className="num mb-5 flex flex-wrap gap-x-8 gap-y-3 text-sm">
      {facts.map(([name, value]) => (
        <div key={name} className="min-w-0">
          <dt className="text-ink-3 text-xs">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
