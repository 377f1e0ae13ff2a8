import { call } from "@/api/client";
import { updateWebhook } from "@/api/generated/operations";
import type { Webhook, WebhookChange } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { notify } from "@/ui/toast";
import { bodyOf, useWebhookForm, valuesOf, WebhookFields } from "./form";
import { webhooks } from "./queries";

export default function ChangeWebhook({ it, onClose }: { it: Webhook; onClose: () => void }) {
  const { t } = useText();
  const change = useAct(
    (body: WebhookChange, key) => call(updateWebhook, { path: { id: it.id }, body }, { key }),
    {
      touches: [webhooks.queryKey],
      onDone: () => {
        onClose();
        notify({ title: t("webhooks.saved") });
      },
    },
  );
  const form = useWebhookForm(valuesOf(it), (values) => change.run(bodyOf(values)), change.error);
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title={t("webhooks.changeTitle")}
      description={t("webhooks.changeMaker")}
      onSubmit={form.submit}
      footer={
        <>
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={change.busy}>
            {t("ui.save")}
          </Button>
        </>
      }
    >
      <WebhookFields form={form} />
      {change.error && !form.errors.url && <ErrorLine error={change.error} className="mt-4" />}
    </Dialog>
  );
}
