import { ChevronDown, ChevronUp, Download, Search } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { useText } from "@/i18n";
import { ButtonAnchor, IconButton } from "@/ui/button";
import { box, Checkbox } from "@/ui/field";
import { Segmented } from "@/ui/segmented";
import { type Stamp, stamps } from "./buffer";

interface Props {
  search: string;
  onSearch: (text: string) => void;
  found: number;
  at: number;
  onStep: (by: 1 | -1) => void;
  stamp: Stamp;
  onStamp: (stamp: Stamp) => void;
  wrap: boolean;
  onWrap: (wrap: boolean) => void;
  download: string;
  name: string;
  attempts: ReactNode;
}

export function Toolbar({
  search,
  onSearch,
  found,
  at,
  onStep,
  stamp,
  onStamp,
  wrap,
  onWrap,
  download,
  name,
  attempts,
}: Props) {
  const { t } = useText();
  const field = useRef<HTMLInputElement>(null);
  return (
    <div className="mb-3 flex flex-wrap items-center gap-x-4 gap-y-2">
      <div className="flex items-center gap-1 max-md:w-full">
        <span className={`${box} h-8 w-64 border-line-strong max-md:h-10 max-md:w-auto max-md:flex-1`}>
          <Search className="size-4 shrink-0 text-ink-3" aria-hidden="true" />
          <input
            ref={field}
            type="search"
            aria-label={t("instance.searchLog")}
            placeholder={t("instance.searchLog")}
            value={search}
            onChange={(event) => onSearch(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === "Enter" && found > 0) onStep(event.shiftKey ? -1 : 1);
            }}
            className="w-full min-w-0 bg-transparent outline-none placeholder:text-ink-3"
          />
        </span>
        {search && (
          <>
            <span role="status" className="num min-w-14 text-center text-ink-2 text-xs">
              {found === 0 ? t("instance.noMatch") : t("instance.matchOf", { at: at + 1, count: found })}
            </span>
            <IconButton
              label={t("instance.previousMatch")}
              disabled={found === 0 && t("instance.noMatch")}
              onClick={() => onStep(-1)}
            >
              <ChevronUp className="size-4" aria-hidden="true" />
            </IconButton>
            <IconButton
              label={t("instance.nextMatch")}
              disabled={found === 0 && t("instance.noMatch")}
              onClick={() => onStep(1)}
            >
              <ChevronDown className="size-4" aria-hidden="true" />
            </IconButton>
          </>
        )}
      </div>
      {attempts && <div className="w-52">{attempts}</div>}
      <div className="ml-auto flex flex-wrap items-center gap-x-4 gap-y-2 max-md:ml-0">
        <Segmented
          label={t("instance.times")}
          value={stamp}
          choices={stamps.map((value) => ({ value, label: t(`instance.times_${value}`) }))}
          onChange={onStamp}
        />
        <Checkbox
          checked={wrap}
          onChange={(event) => onWrap(event.target.checked)}
          label={t("instance.wrap")}
        />
        <ButtonAnchor small href={download} download={name}>
          <Download className="size-4" aria-hidden="true" />
          {t("instance.download")}
        </ButtonAnchor>
      </div>
    </div>
  );
}
