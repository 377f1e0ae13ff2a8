import { asCurl, call } from "@/api/client";
import { createWebhook } from "@/api/generated/operations";
import type { NewWebhook, WebhookWithSecret } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { bodyOf, useWebhookForm, valuesOf, WebhookFields } from "./form";
import { webhooks } from "./queries";

/** Mounted anew each time: nothing of the last one stays in it. */
export function CreateWebhook({
  onClose,
  onDone,
}: {
  onClose: () => void;
  onDone: (made: WebhookWithSecret) => void;
}) {
  const { t } = useText();
  const create = useAct((body: NewWebhook, key) => call(createWebhook, { body }, { key }), {
    touches: [webhooks.queryKey],
    onDone,
  });
  const form = useWebhookForm(valuesOf(), (values) => create.run(bodyOf(values)), create.error);
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t("webhooks.create")}
      onSubmit={form.submit}
      footer={
        <>
          <CopyCurl command={asCurl(createWebhook, { body: bodyOf(form.values) })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={create.busy}>
            {t("webhooks.createSubmit")}
          </Button>
        </>
      }
    >
      <WebhookFields form={form} />
      {create.error && !form.errors.url && <ErrorLine error={create.error} className="mt-4" />}
    </Dialog>
  );
}
