import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Artifact, Job } from "@/api/generated/types";
import { pictureText } from "@/api/jobs/picture-text";
import { artifacts } from "@/api/jobs/queries";
import { useAsked } from "@/domain/jobs/asked";
import { parametersOf, withText } from "@/domain/jobs/parameters";
import { isPicture, Picture } from "@/domain/jobs/picture";
import { useText } from "@/i18n";
import { useSeen } from "@/lib/seen";

/** Height of a row of pictures before they grow to fill its width, in pixels. */
const ROW = 190;

const sized = (ratio: number) => ({ flexGrow: ratio, flexBasis: ratio * ROW });

/** The pictures of one job, asked for when their place is seen. */
export function JobTiles({
  it,
  isWanted,
}: {
  it: Job /** Ask at once: the address names one of them. */;
  isWanted: boolean;
}) {
  const [ref, seen] = useSeen<HTMLLIElement>();
  const { data, isError } = useQuery({ ...artifacts(it.id), enabled: seen || isWanted });
  const { order } = useAsked(it);
  const known = parametersOf(order);
  const ratio = known?.width && known.height ? known.width / known.height : 1.2;
  const pictures = data?.filter(isPicture);
  if (!pictures)
    return isError ? null : (
      <li ref={ref} className="h-48 rounded-sm bg-wash" style={sized(ratio)} aria-hidden="true" />
    );
  return pictures.map((artifact, i) => (
    <Tile key={artifact.id} it={it} artifact={artifact} n={i + 1} guess={ratio} />
  ));
}

function Tile({ it, artifact, n, guess }: { it: Job; artifact: Artifact; n: number; guess: number }) {
  const { t } = useText();
  const [ratio, setRatio] = useState(guess);
  const [isLooked, setLooked] = useState(false);
  const { order, name, isKnown } = useAsked(it);
  const { data: written } = useQuery({ ...pictureText(it.id, artifact), enabled: isLooked });
  const known = withText(parametersOf(order), written);
  const title = known?.prompt || (isKnown ? name : t("jobs.unknownPrompt"));
  const look = () => setLooked(true);
  const label = t("jobs.openLarge", { name: `${name}, ${t("jobs.pictureN", { n })}` });
  return (
    <li className="group relative h-48 min-w-0 max-md:h-36" style={sized(ratio)}>
      <Link
        to="/gallery"
        search={{ picture: artifact.id }}
        replace
        resetScroll={false}
        aria-label={label}
        onPointerEnter={look}
        onFocus={look}
        className="block h-full overflow-hidden rounded-sm"
      >
        <Picture
          job={it.id}
          artifact={artifact}
          alt=""
          className="h-full w-full object-cover"
          onRatio={setRatio}
        />
        <span className="pointer-events-none absolute inset-x-0 bottom-0 rounded-b-sm bg-black/75 px-2 py-1.5 text-sheet text-xs dark:text-ink opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 max-md:hidden">
          <span className="line-clamp-2">{title}</span>
          {known && known.seed !== null && (
            <span className="num block truncate opacity-80">
              {[`${t("jobs.seed")} ${known.seed}`, known.model].filter(Boolean).join(" · ")}
            </span>
          )}
        </span>
      </Link>
    </li>
  );
}
