import { useState } from "react";
import type { Webhook, WebhookWithSecret } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { useRemove, useRotate, useTakeOver, useTest, useToggle } from "./acts";
import { WebhookSecret } from "./secret";
import { shortUrl } from "./standing";

type Question = "rotate" | "takeOver" | "delete";

/** All that can be done with a webhook. What the role forbids says why. */
export function WebhookMenu({ it }: { it: Webhook }) {
  const { t } = useText();
  const me = useMe();
  const reason = useWhyNot("webhooks.write");
  const ownersOnly = useWhyNot("webhooks.takeOver");
  const [asked, setAsked] = useState<Question | null>(null);
  const [made, setMade] = useState<WebhookWithSecret | null>(null);
  const toggle = useToggle(it);
  const test = useTest(it);
  const close = () => setAsked(null);
  const isMine = it.created_by === me.user.id && it.problem !== "maker_ended";
  return (
    <>
      <ActionMenu
        label={t("webhooks.actions", { url: shortUrl(it.url) })}
        entries={[
          {
            key: "test",
            label: t("webhooks.test"),
            note: t("webhooks.testNote"),
            disabled: reason,
            onSelect: () => test.run(),
          },
          {
            key: "toggle",
            label: it.enabled ? t("webhooks.disable") : t("webhooks.enable"),
            ...(it.enabled && { note: t("webhooks.disableNote") }),
            disabled: reason,
            onSelect: () => toggle.run(!it.enabled),
          },
          {
            key: "rotate",
            label: t("webhooks.rotate"),
            disabled: reason,
            onSelect: () => setAsked("rotate"),
          },
          ...(isMine
            ? []
            : [
                {
                  key: "take-over",
                  label: t("webhooks.takeOver"),
                  disabled: ownersOnly,
                  onSelect: () => setAsked("takeOver"),
                },
              ]),
          "line",
          {
            key: "delete",
            label: t("webhooks.delete"),
            danger: true,
            disabled: reason,
            onSelect: () => setAsked("delete"),
          },
        ]}
      />
      {asked === "rotate" && (
        <Rotate
          it={it}
          onClose={close}
          onDone={(webhook) => {
            close();
            setMade(webhook);
          }}
        />
      )}
      {asked === "takeOver" && <TakeOver it={it} onClose={close} />}
      {asked === "delete" && <Remove it={it} onClose={close} />}
      <WebhookSecret made={made} onClose={() => setMade(null)} />
    </>
  );
}

interface Props {
  it: Webhook;
  onClose: () => void;
}

function Rotate({ it, onClose, onDone }: Props & { onDone: (made: WebhookWithSecret) => void }) {
  const { t } = useText();
  const rotate = useRotate(it, onDone);
  return (
    <ConfirmDialog
      open
      harmless
      onClose={onClose}
      onConfirm={() => rotate.run()}
      busy={rotate.busy}
      error={rotate.error}
      title={t("webhooks.rotateTitle")}
      verb={t("webhooks.rotateVerb")}
    >
      <p>{t("webhooks.rotateHint")}</p>
    </ConfirmDialog>
  );
}

export function TakeOver({ it, onClose }: Props) {
  const { t } = useText();
  const take = useTakeOver(it, onClose);
  return (
    <ConfirmDialog
      open
      harmless
      onClose={onClose}
      onConfirm={() => take.run()}
      busy={take.busy}
      error={take.error}
      title={t("webhooks.takeOverTitle")}
      verb={t("webhooks.takeOverVerb")}
    >
      <p>
        {t("webhooks.takeOverHint")} {it.problem === "maker_ended" && t("webhooks.takeOverEnables")}
      </p>
      <p>{t("webhooks.takeOverSecret")}</p>
    </ConfirmDialog>
  );
}

function Remove({ it, onClose }: Props) {
  const { t } = useText();
  const remove = useRemove(it, onClose);
  return (
    <ConfirmDialog
      open
      onClose={onClose}
      onConfirm={() => remove.run()}
      busy={remove.busy}
      error={remove.error}
      title={t("webhooks.deleteTitle")}
      verb={t("webhooks.deleteVerb")}
    >
      <p className="break-all font-mono text-ink">{shortUrl(it.url)}</p>
      <p>{t("webhooks.deleteHint")}</p>
    </ConfirmDialog>
  );
}
