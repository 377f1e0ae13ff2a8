import { useQuery } from "@tanstack/react-query";
import { ImageOff } from "lucide-react";
import { useState } from "react";
import { environment } from "@/api/client";
import type { Artifact, JobId } from "@/api/generated/types";
import { contentPath } from "@/api/jobs/picture-text";
import { useText } from "@/i18n";

const isDemo = import.meta.env.MODE === "demo";

export const isPicture = ({ content_type }: Pick<Artifact, "content_type">) =>
  /^image\/(png|jpeg|webp)$/.test(content_type);

/** The demo has no server that a picture could come from. */
function useSource(job: JobId, { id, content_type }: Artifact): string | undefined {
  const path = contentPath(job, id);
  const { data } = useQuery({
    queryKey: ["picture", id],
    enabled: isDemo,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => {
      const bytes = new Uint8Array(await (await environment.fetch(path)).arrayBuffer());
      return `data:${content_type};base64,${btoa(Array.from(bytes, (it) => String.fromCharCode(it)).join(""))}`;
    },
  });
  return isDemo ? data : path;
}

/** A picture of a job. Where it is gone from the bucket, it says so. */
export function Picture({
  job,
  artifact,
  alt,
  className,
  onRatio,
}: {
  job: JobId;
  artifact: Artifact;
  alt: string;
  className?: string;
  /** Width by height, when it has come. */
  onRatio?: (ratio: number) => void;
}) {
  const { t } = useText();
  const source = useSource(job, artifact);
  const [isGone, setGone] = useState(false);
  if (isGone)
    return (
      <span
        role="img"
        aria-label={`${alt}: ${t("jobs.pictureGone")}`}
        title={t("jobs.pictureGone")}
        className={`${className ?? ""} grid place-items-center bg-wash text-ink-3`}
      >
        <ImageOff className="size-4" aria-hidden="true" />
      </span>
    );
  return (
    <img
      src={source}
      alt={alt}
      loading="lazy"
      decoding="async"
      onError={() => setGone(true)}
      onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) =>
        naturalHeight > 0 && onRatio?.(naturalWidth / naturalHeight)
      }
      className={`${className ?? ""} bg-wash`}
    />
  );
}
