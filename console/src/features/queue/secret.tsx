import type { MqCredential } from "@/api/generated/types";
import { useText } from "@/i18n";
import { CodeSamples } from "@/ui/code-samples";
import { CopyBox } from "@/ui/copy";
import { ShownOnce } from "@/ui/shown-once";
import { connectionOf, queueSamples } from "./samples";

/** The password, how to connect with it, and a program that does. */
export function CredentialSecret({ made, onClose }: { made: MqCredential | null; onClose: () => void }) {
  const { t } = useText();
  const secret = made?.secret ?? "";
  return (
    <ShownOnce
      open={made !== null}
      onClose={onClose}
      title={t("queue.shownTitle", { name: made?.name ?? "" })}
    >
      <CopyBox text={secret} label={t("queue.copyPassword")} />
      <p className="mt-4 mb-1 font-medium text-sm">{t("queue.connection")}</p>
      {made?.url ? (
        <CopyBox text={connectionOf(made.url, made.id, secret)} label={t("queue.copyConnection")} />
      ) : (
        <p className="text-ink-2 text-sm">{t("queue.noAddress")}</p>
      )}
      {made && (
        <>
          <p className="mt-4 mb-2 font-medium text-sm">{t("queue.sampleTitle")}</p>
          <CodeSamples label={t("queue.samples")} samples={queueSamples(made)} />
        </>
      )}
    </ShownOnce>
  );
}
