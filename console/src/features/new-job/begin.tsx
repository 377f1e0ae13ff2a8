import { X } from "lucide-react";
import type { Artifact, Job } from "@/api/generated/types";
import { Picture } from "@/domain/jobs/picture";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { TextField } from "@/ui/field";
import { Panel, Section } from "@/ui/page";
import type { OrderForm } from "./use-order";

/** The picture that the new ones are made from. */
export function Begin({
  job,
  artifact,
  form,
  onDrop,
}: {
  job: Job;
  artifact: Artifact;
  form: OrderForm;
  onDrop: () => void;
}) {
  const { t } = useText();
  return (
    <Section title={t("newJob.begins")} hint={t("newJob.beginsHint")}>
      <Panel className="flex items-start gap-4 p-3">
        <Picture
          job={job.id}
          artifact={artifact}
          alt={t("newJob.begins")}
          className="h-28 max-w-44 rounded-sm object-contain"
        />
        <div className="min-w-0 flex-1">
          <TextField
            {...form.text("parameters.denoising_strength")}
            label={t("newJob.strength")}
            hint={t("newJob.strengthHint")}
            inputMode="decimal"
            className="max-w-60"
          />
          <Button small kind="quiet" className="mt-2 -ml-2.5" onClick={onDrop}>
            <X className="size-4" aria-hidden="true" />
            {t("newJob.removeBegin")}
          </Button>
        </div>
      </Panel>
    </Section>
  );
}
