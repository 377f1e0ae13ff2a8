import { useQuery } from "@tanstack/react-query";
import type { Storage } from "@/api/generated/types";
import { bucketKeys } from "@/api/storages/queries";
import { useText } from "@/i18n";
import { ButtonLink } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Section } from "@/ui/page";

/** How S3 clients reach the bucket. */
export function Address({ it }: { it: Storage }) {
  const { t } = useText();
  const { data: keys } = useQuery(bucketKeys(it.id));
  const { bucket } = it;
  const lines: [string, string][] = bucket
    ? [
        [t("storages.endpoint"), bucket.endpoint],
        [t("storages.bucketName"), bucket.name],
        [t("storages.region"), bucket.region],
      ]
    : [];
  return (
    <Section
      title={t("storages.address")}
      hint={bucket ? t("storages.addressHint") : t("storages.addressLater")}
      actions={
        <ButtonLink to="/storages/$id/keys" params={{ id: it.id }}>
          {t("storages.manageKeys")}
        </ButtonLink>
      }
    >
      <div className="space-y-3">
        {lines.map(([name, text]) => (
          <div key={name}>
            <p className="mb-1 text-ink-3 text-xs">{name}</p>
            <CopyBox text={text} label={t("storages.copyOf", { name })} />
          </div>
        ))}
        {bucket && keys && (
          <p className="num text-ink-2 text-sm">{t("storages.keysCount", { count: keys.length })}</p>
        )}
      </div>
    </Section>
  );
}
