import type { Storage } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { whyNotNow } from "@/domain/storages/acts";
import { reasonOf, standingOf } from "@/domain/storages/standing";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";
import { CopyButton } from "@/ui/copy";
import { Panel, Row, Section } from "@/ui/page";
import { useOpen } from "./use-open";

/** Why it failed, and that the platform goes on trying. */
export function FailedReason({ it }: { it: Storage }) {
  const { t, language } = useText();
  const title = reasonOf({ reason: it.reason, message: null }, t, language);
  const sentence = reasonOf(it, t, language);
  return (
    <div className="rounded-lg border border-vermilion bg-vermilion-wash px-4 py-3.5">
      <h2 className="font-medium text-base text-vermilion">{title ?? t(standingOf(it).word)}</h2>
      {sentence && sentence !== title && <p className="max-w-[80ch] text-sm">{sentence}</p>}
      <p className="mt-1 text-sm">{t("storages.failedHint")}</p>
    </div>
  );
}

export function WhatToDo({ it }: { it: Storage }) {
  const { t } = useText();
  const me = useMe();
  const show = useOpen();
  const reason = useWhyNot("storages.write");
  return (
    <Section title={t("storages.whatToDo")}>
      <Panel>
        <Row title={t("storages.doOther")} hint={t("storages.doOtherHint")}>
          {reason ? (
            <Button small disabled={reason}>
              {t("storages.createOne")}
            </Button>
          ) : (
            <ButtonLink small to="/storages/new" search={{ spec: it.storage_spec.name }}>
              {t("storages.createOne")}
            </ButtonLink>
          )}
        </Row>
        <Row title={t("storages.doDelete")} hint={t("storages.doDeleteHint")}>
          <Button small disabled={whyNotNow(me, it, "delete", t)} onClick={() => show("delete")}>
            {t("storages.deleteDots")}
          </Button>
        </Row>
        <Row title={t("storages.doAsk")} hint={t("storages.doAskHint")}>
          <CopyButton small label={t("storages.copyIds")} text={`${it.id}\n${it.operation_id}`} />
        </Row>
      </Panel>
    </Section>
  );
}
