import { Link } from "@tanstack/react-router";
import { ImagePlus } from "lucide-react";
import { asCurl } from "@/api/client";
import { createJob } from "@/api/generated/operations";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";
import { CopyBox } from "@/ui/copy";
import { Empty } from "@/ui/page";

export function NewPictures({ primary, reason }: { primary?: boolean; reason: string | false }) {
  const { t } = useText();
  const inner = (
    <>
      <ImagePlus className="size-4" aria-hidden="true" />
      {t("jobs.newPictures")}
    </>
  );
  const kind = primary ? "primary" : "plain";
  return reason ? (
    <Button kind={kind} disabled={reason}>
      {inner}
    </Button>
  ) : (
    <ButtonLink kind={kind} to="/jobs/new">
      {inner}
    </ButtonLink>
  );
}

export function NoJobs({ reason }: { reason: string | false }) {
  const { t } = useText();
  const command = asCurl(createJob, {
    body: {
      application: "stable-diffusion",
      method: "txt2img",
      parameters: { prompt: "a fox in the snow" },
    },
  });
  return (
    <>
      <Empty title={t("jobs.emptyTitle")} actions={<NewPictures reason={reason} />}>
        {t("jobs.emptyHint")}
      </Empty>
      {!reason && (
        <div className="mx-auto max-w-136 px-4 pb-8">
          <p className="mb-1 text-ink-3 text-xs">{t("jobs.fromTerminal")}</p>
          <CopyBox lines text={command} label={t("ui.copyAsCurl")} />
        </div>
      )}
    </>
  );
}

export function NoneFound() {
  const { t } = useText();
  return (
    <Empty
      title={t("jobs.noneFound")}
      actions={
        <Link to="/jobs" search={{}} className="text-sm text-ultra hover:underline">
          {t("jobs.clear")}
        </Link>
      }
    >
      {t("jobs.noneFoundHint")}
    </Empty>
  );
}
