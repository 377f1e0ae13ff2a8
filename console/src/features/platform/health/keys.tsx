import { useState } from "react";
import { call } from "@/api/client";
import { rotateSigningKeys } from "@/api/generated/operations";
import type { Stage } from "@/api/generated/types";
import { useAct, useLoaded } from "@/api/query";
import type { PlainKey } from "@/i18n";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { Panel, Section } from "@/ui/page";
import { type Mark, StateMark } from "@/ui/state";
import { notify } from "@/ui/toast";
import { IdText } from "../parts/links";
import { signingKeys } from "./queries";

const stages: Record<Stage, { mark: Mark; word: PlainKey }> = {
  next: { mark: "moves", word: "health.keyNext" },
  active: { mark: "runs", word: "health.keyActive" },
  retiring: { mark: "moves", word: "health.keyRetiring" },
  ended: { mark: "rests", word: "health.keyEnded" },
};

/** The keys that sign access tokens. */
export function KeysPage() {
  const { t } = useText();
  const { time } = useFormat();
  const { items } = useLoaded(signingKeys);
  const [open, setOpen] = useState(false);
  const isUnderWay = items.some((it) => it.stage === "next");
  const rotate = useAct((_: void, key) => call(rotateSigningKeys, {}, { key }), {
    touches: [signingKeys.queryKey],
    onDone: () => {
      setOpen(false);
      notify({ title: t("health.rotated"), detail: t("health.rotatedHint") });
    },
  });
  return (
    <Section
      title={t("health.keys")}
      hint={t("health.keysHint")}
      actions={
        <Button disabled={isUnderWay && t("health.rotationUnderWay")} onClick={() => setOpen(true)}>
          {t("health.rotateDots")}
        </Button>
      }
    >
      <Panel>
        <ul className="num text-sm">
          {items.map((it) => (
            <li
              key={it.id}
              className="grid min-h-9 grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 border-line border-b px-4 py-1 last:border-b-0 md:grid-cols-[12rem_9rem_minmax(0,1fr)_5rem]"
            >
              <IdText id={it.id} />
              <StateMark mark={stages[it.stage].mark}>{t(stages[it.stage].word)}</StateMark>
              <span className="text-ink-2">
                {it.stage === "next"
                  ? t("health.signsFrom", { time: time(it.active_from) })
                  : t("health.signedSince", { time: time(it.active_from) })}
              </span>
              <span className="text-right text-ink-3 max-md:hidden">{it.algorithm}</span>
            </li>
          ))}
        </ul>
      </Panel>
      <ConfirmDialog
        open={open}
        onClose={() => {
          setOpen(false);
          rotate.reset();
        }}
        onConfirm={() => rotate.run()}
        busy={rotate.busy}
        error={rotate.error}
        title={t("health.rotateTitle")}
        verb={t("health.rotate")}
        harmless
      >
        <p>{t("health.rotateHint")}</p>
        <p>{t("health.rotateWhen")}</p>
      </ConfirmDialog>
    </Section>
  );
}
