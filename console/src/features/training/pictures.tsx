import { clsx } from "clsx";
import { ImageUp, RotateCcw, X } from "lucide-react";
import { type DragEvent, useId, useState } from "react";
import { NetworkError } from "@/api/problem";
import { accepted } from "@/domain/uploads/rules";
import { StoreError } from "@/domain/uploads/send";
import { Thumbnail } from "@/domain/uploads/thumbnail";
import type { Picture, Uploads } from "@/domain/uploads/use-uploads";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button, IconButton } from "@/ui/button";
import { describe } from "@/ui/error";
import { Progress } from "@/ui/progress";
import { MOST } from "./order";

/** Pictures, which are sent as soon as they are chosen. */
export function PictureFields({
  uploads,
  reason,
  error,
}: {
  uploads: Uploads;
  /** Why none can be sent. */
  reason: string | false;
  error: string | undefined;
}) {
  const { t } = useText();
  const count = uploads.pictures.filter((it) => it.state !== "refused").length;
  const id = useId();
  return (
    <div>
      <ul className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5">
        {uploads.pictures.map((it) => (
          <Tile key={it.key} it={it} uploads={uploads} />
        ))}
        {count < MOST && (
          <li className={clsx(uploads.pictures.length === 0 && "col-span-full")}>
            <Chooser
              wide={uploads.pictures.length === 0}
              onChoose={uploads.add}
              reason={reason}
              isWrong={Boolean(error)}
              described={error ? id : undefined}
            />
          </li>
        )}
      </ul>
      <p id={id} className={clsx("num mt-2 text-xs", error ? "text-vermilion" : "text-ink-3")}>
        {error ?? t("training.pictureCount", { count })}
      </p>
    </div>
  );
}

function Chooser({
  wide,
  onChoose,
  reason,
  isWrong,
  described,
}: {
  wide: boolean;
  onChoose: (files: File[]) => void;
  reason: string | false;
  isWrong: boolean;
  described: string | undefined;
}) {
  const { t } = useText();
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    if (!reason) onChoose([...event.dataTransfer.files]);
  };
  return (
    <label
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={clsx(
        "flex flex-col items-center justify-center gap-1 rounded-lg border border-dashed px-3 text-center text-sm",
        "has-focus-visible:outline-2 has-focus-visible:outline-ultra has-focus-visible:outline-offset-2",
        wide ? "h-36" : "aspect-square",
        isWrong ? "border-vermilion" : "border-line-strong",
        isOver ? "bg-ultra-wash" : "bg-sheet",
        reason ? "cursor-not-allowed opacity-55" : "cursor-pointer hover:border-ink-2",
      )}
    >
      <ImageUp className="mb-1 size-5 text-ink-3" aria-hidden="true" />
      <span className="font-medium">{t("training.choose")}</span>
      <span className="text-ink-3 text-xs">{reason || t("training.drop")}</span>
      <input
        type="file"
        name="parameters.images"
        multiple
        disabled={Boolean(reason)}
        accept={accepted.join(",")}
        aria-invalid={isWrong}
        aria-describedby={described}
        className="sr-only"
        onChange={(event) => {
          onChoose([...(event.target.files ?? [])]);
          event.target.value = "";
        }}
      />
    </label>
  );
}

function Tile({ it, uploads }: { it: Picture; uploads: Uploads }) {
  const { t } = useText();
  const { file, state } = it;
  const isBad = state === "refused" || state === "cut";
  const take =
    state === "sending" || state === "reading"
      ? t("training.stopSending", { name: file.name })
      : t("training.take", { name: file.name });
  return (
    <li className="min-w-0">
      <div
        className={clsx(
          "relative aspect-square overflow-hidden rounded-lg border bg-wash",
          isBad ? "border-vermilion" : "border-line",
        )}
      >
        {it.small && <Thumbnail picture={it.small} label={file.name} />}
        <span className="absolute top-1 right-1 rounded-md bg-sheet">
          <IconButton label={take} onClick={() => uploads.remove(it.key)}>
            <X className="size-4" aria-hidden="true" />
          </IconButton>
        </span>
        {state === "cut" && (
          <span className="absolute inset-x-2 bottom-2 grid">
            <Button
              small
              aria-label={t("training.resumeOf", { name: file.name })}
              onClick={() => uploads.resume(it.key)}
            >
              <RotateCcw className="size-3.5" aria-hidden="true" />
              {t("training.resume")}
            </Button>
          </span>
        )}
      </div>
      <p className="mt-1.5 truncate text-xs" title={file.name}>
        {file.name}
      </p>
      <Standing it={it} />
    </li>
  );
}

function Standing({ it }: { it: Picture }) {
  const { t } = useText();
  const { bytes } = useFormat();
  const { file, state, width, height, error } = it;
  if (state === "refused")
    return <p className="text-vermilion text-xs">{it.refusal && t(`training.refusal_${it.refusal}`)}</p>;
  if (state === "cut") {
    const why =
      error instanceof StoreError
        ? t("training.storeRefused", { status: error.status })
        : error
          ? error instanceof NetworkError
            ? t("training.cut")
            : describe(error, t)
          : t("training.lost");
    return (
      <p role="alert" className="text-vermilion text-xs">
        {why}
      </p>
    );
  }
  if (state === "reading") return <p className="text-ink-3 text-xs">{t("training.reading")}</p>;
  if (state === "sending") {
    const part = t("training.sendingPart", { sent: bytes(it.sent), size: bytes(file.size) });
    return (
      <div className="num text-ink-3 text-xs">
        <p>{part}</p>
        <Progress
          label={t("training.sendingLabel", { name: file.name })}
          value={it.sent}
          most={file.size}
          text={part}
        />
      </div>
    );
  }
  const isSmall = Math.min(width, height) < 512;
  return (
    <p className="num text-ink-3 text-xs">
      <span className="text-viridian">{t("training.arrived")}</span> · {width} × {height}
      {isSmall && <span className="block text-ochre">{t("training.small")}</span>}
    </p>
  );
}
