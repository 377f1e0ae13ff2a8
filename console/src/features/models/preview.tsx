import { useQuery } from "@tanstack/react-query";
import type { Model } from "@/api/generated/types";
import { contentPath } from "@/api/jobs/picture-text";
import { artifacts } from "@/api/jobs/queries";
import { isPicture } from "@/domain/jobs/picture";
import { useText } from "@/i18n";
import { Section } from "@/ui/page";
import { Sample } from "@/ui/sample";

/** The picture that the training has left. */
export function Preview({ it }: { it: Model }) {
  const { t } = useText();
  const { data, isPending } = useQuery(artifacts(it.job_id));
  const picture = data?.find(isPicture);
  if (isPending) return <div className="aspect-square" />;
  return (
    <Section title={t("models.preview")}>
      {picture ? (
        <Sample
          src={contentPath(it.job_id, picture.id)}
          label={t("models.previewAlt", { name: it.name })}
          unread={t("models.previewUnread")}
        />
      ) : (
        <p className="text-ink-3 text-sm">{t("models.previewNone")}</p>
      )}
    </Section>
  );
}
