import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { clsx } from "clsx";
import { Download, File } from "lucide-react";
import { useState } from "react";
import type { Artifact, Job } from "@/api/generated/types";
import { contentPath } from "@/api/jobs/picture-text";
import { artifacts } from "@/api/jobs/queries";
import { useAsked } from "@/domain/jobs/asked";
import { isPicture, Picture } from "@/domain/jobs/picture";
import { useText } from "@/i18n";
import { formatBytes } from "@/lib/bytes";
import { ButtonAnchor } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Empty, Panel, Row, Section } from "@/ui/page";

/** What it has made: pictures large, other files as rows. */
export function Results({ it }: { it: Job }) {
  const { t } = useText();
  const { data, error } = useQuery(artifacts(it.id));
  const pictures = data?.filter(isPicture) ?? [];
  const files = data?.filter((one) => !isPicture(one)) ?? [];
  return (
    <Section title={t(pictures.length > 0 ? "jobs.pictures" : "jobs.results")} hint={t("jobs.resultsHint")}>
      {error && !data && <ErrorLine error={error} />}
      {data?.length === 0 && (
        <Panel>
          <Empty title={t("jobs.noResults")}>{t("jobs.logHint")}</Empty>
        </Panel>
      )}
      {pictures.length > 0 && (
        <ul className={pictures.length === 1 ? "max-w-160" : "grid grid-cols-2 gap-2"}>
          {pictures.map((artifact, i) => (
            <Tile key={artifact.id} it={it} artifact={artifact} n={i + 1} isAlone={pictures.length === 1} />
          ))}
        </ul>
      )}
      {files.length > 0 && (
        <Panel className={pictures.length > 0 ? "mt-3" : ""}>
          {files.map((one) => (
            <FileRow key={one.id} it={it} artifact={one} />
          ))}
        </Panel>
      )}
    </Section>
  );
}

function Tile({ it, artifact, n, isAlone }: { it: Job; artifact: Artifact; n: number; isAlone: boolean }) {
  const { t } = useText();
  const [ratio, setRatio] = useState(1);
  const name = t("jobs.pictureN", { n });
  return (
    <li className="group relative min-w-0">
      <Link
        to="/jobs/$id"
        params={{ id: it.id }}
        search={{ picture: artifact.id }}
        resetScroll={false}
        aria-label={t("jobs.openLarge", { name })}
        className="block overflow-hidden rounded-md"
        style={{ aspectRatio: ratio }}
      >
        <Picture
          job={it.id}
          artifact={artifact}
          alt={name}
          className={`size-full ${isAlone ? "object-contain" : "object-cover"}`}
          onRatio={setRatio}
        />
      </Link>
      <a
        href={contentPath(it.id, artifact.id)}
        download={artifact.name}
        aria-label={t("jobs.downloadOf", { name })}
        className="absolute right-2 bottom-2 grid size-8 place-items-center rounded-md border border-line bg-sheet text-ink opacity-0 hover:border-line-strong focus-visible:opacity-100 group-hover:opacity-100 max-md:size-10 max-md:opacity-100"
      >
        <Download className="size-4" aria-hidden="true" />
      </a>
    </li>
  );
}

function FileRow({ it, artifact }: { it: Job; artifact: Artifact }) {
  const { t, language } = useText();
  return (
    <Row
      title={
        <span className="flex items-center gap-2 text-sm">
          <File className="size-4 text-ink-3" aria-hidden="true" />
          <span className="truncate font-mono">{artifact.name}</span>
        </span>
      }
      hint={`${artifact.content_type} · ${formatBytes(artifact.bytes, language)}`}
    >
      <ButtonAnchor small href={contentPath(it.id, artifact.id)} download={artifact.name}>
        <Download className="size-4" aria-hidden="true" />
        {t("jobs.download")}
      </ButtonAnchor>
    </Row>
  );
}

/** Where the pictures will be, while they are made. */
export function Coming({ it }: { it: Job }) {
  const { known } = useAsked(it);
  if (!known?.images || !known.width || !known.height) return null;
  const ratio = known.width / known.height;
  return (
    <div
      aria-hidden="true"
      className={clsx("mb-6", known.images === 1 ? "max-w-160" : "grid grid-cols-2 gap-2")}
    >
      {Array.from({ length: known.images }, (_, i) => (
        <div
          // biome-ignore lint/suspicious/noArrayIndexKey: places have nothing else to be known by
          key={i}
          className="rounded-md border border-line-strong border-dashed"
          style={{ aspectRatio: ratio }}
        />
      ))}
    </div>
  );
}
