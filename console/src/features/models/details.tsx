import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useState } from "react";
import type { Model, ModelId } from "@/api/generated/types";
import { artifacts } from "@/api/jobs/queries";
import { model } from "@/api/models";
import { ApiError } from "@/api/problem";
import { useLoaded } from "@/api/query";
import { filePath } from "@/domain/models/files";
import { MakePictures } from "@/domain/models/make-pictures";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { shortId } from "@/lib/ids";
import { drawnLater } from "@/lib/later";
import { ButtonAnchor, ButtonLink } from "@/ui/button";
import { CopyIconButton } from "@/ui/copy";
import { Fact, Facts } from "@/ui/facts";
import { Empty, PageHead, Panel } from "@/ui/page";
import { Deployments } from "./deployments";
import { type ModelDialog, ModelMenu } from "./model-menu";
import { Preview } from "./preview";
import { UseIt } from "./use-it";

const route = getRouteApi("/_app/models/$id");

const RenameDialog = drawnLater(() => import("./rename"));
const DeleteDialog = drawnLater(() => import("./delete"));

export function ModelPage() {
  const { t } = useText();
  const id = route.useParams().id as ModelId;
  const { open } = route.useSearch();
  const { bytes, day } = useFormat();
  const it = useLoaded(model(id));
  const { error } = useQuery(model(id));
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<ModelDialog | null>(null);
  const up = { label: t("models.title"), link: { to: "/models" } as const };
  if (error instanceof ApiError && error.status === 404)
    return (
      <>
        <PageHead title={it.name} up={up} />
        <Panel>
          <Empty
            title={t("models.gone", { name: it.name })}
            actions={<ButtonLink to="/models">{t("models.toList")}</ButtonLink>}
          >
            {t("models.goneHint")}
          </Empty>
        </Panel>
      </>
    );
  const close = () => setDialog(null);
  return (
    <>
      <PageHead title={it.name} up={up} actions={<HeadActions it={it} onOpen={setDialog} />}>
        {t("models.sentence", {
          kind: t(`models.kind_${it.kind}`),
          base: it.base_model,
          size: bytes(it.bytes),
          day: day(it.created_at),
        })}
      </PageHead>
      <ModelFacts it={it} />
      <div className="grid gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="min-w-0">
          <Deployments it={it} open={open} />
          <UseIt it={it} />
        </div>
        <div className="min-w-0">
          <Preview it={it} />
        </div>
      </div>
      {dialog === "rename" && <RenameDialog it={it} onClose={close} />}
      {dialog === "delete" && (
        <DeleteDialog it={it} onClose={close} onDone={() => void navigate({ to: "/models" })} />
      )}
    </>
  );
}

function HeadActions({ it, onOpen }: { it: Model; onOpen: (dialog: ModelDialog) => void }) {
  const { t } = useText();
  return (
    <>
      <ButtonAnchor href={filePath(it.id)} download>
        <Download className="size-4" aria-hidden="true" />
        {t("models.download")}
      </ButtonAnchor>
      <MakePictures kind="primary" model={it.id}>
        {t("models.pictures")}
      </MakePictures>
      <ModelMenu it={it} onOpen={onOpen} />
    </>
  );
}

function ModelFacts({ it }: { it: Model }) {
  const { t } = useText();
  // jobs are kept for 90 days after they have ended, models for longer
  const { error } = useQuery(artifacts(it.job_id));
  const isKept = !(error instanceof ApiError && error.status === 404);
  return (
    <Facts>
      <Fact label={t("models.adapts")}>
        <span className="font-mono text-xs leading-5">{it.base_model}</span>
      </Fact>
      <Fact label={t("models.training")}>
        {isKept ? (
          <Link to="/training/$id" params={{ id: it.job_id }} className="text-ultra hover:underline">
            {t("models.trainingLink")}
          </Link>
        ) : (
          <span className="text-ink-3">{t("models.trainingGone")}</span>
        )}
      </Fact>
      <Fact label={t("models.id")}>
        <Copied text={it.id} shown={shortId(it.id)} label={t("models.copyId")} />
      </Fact>
      <Fact label={t("models.hash")}>
        <Copied text={it.sha256} shown={`${it.sha256.slice(0, 12)}…`} label={t("models.copyHash")} />
      </Fact>
    </Facts>
  );
}

function Copied({ text, shown, label }: { text: string; shown: string; label: string }) {
  return (
    <span className="-my-1 flex items-center gap-0.5">
      <span className="font-mono text-xs" title={text}>
        {shown}
      </span>
      <CopyIconButton text={text} label={label} />
    </span>
  );
}
