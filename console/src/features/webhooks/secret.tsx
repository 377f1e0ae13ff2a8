import type { WebhookWithSecret } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { CodeSamples } from "@/ui/code-samples";
import { CopyBox } from "@/ui/copy";
import { ShownOnce } from "@/ui/shown-once";
import { verifySamples } from "./samples";

/** The secret of a new webhook, or a new one, with what it is for. */
export function WebhookSecret({ made, onClose }: { made: WebhookWithSecret | null; onClose: () => void }) {
  const { t } = useText();
  const { time } = useFormat();
  const until = made?.previous_secret_until;
  return (
    <ShownOnce
      open={made !== null}
      onClose={onClose}
      title={until ? t("webhooks.shownTitleRotated") : t("webhooks.shownTitle")}
    >
      <CopyBox text={made?.secret ?? ""} label={t("webhooks.copySecret")} />
      {until && (
        <p className="mt-2 text-ink-2 text-sm">{t("webhooks.shownRotated", { time: time(until) })}</p>
      )}
      <p className="mt-4 mb-2 font-medium text-sm">{t("webhooks.shownFor")}</p>
      <CodeSamples label={t("webhooks.samples")} samples={verifySamples(made?.url ?? "")} />
    </ShownOnce>
  );
}
