import type { BucketAddress } from "@/api/generated/types";
import { useText } from "@/i18n";
import { CopyBox } from "@/ui/copy";
import { Segmented } from "@/ui/segmented";
import { type Credentials, configOf, type Program } from "./config";

const names: Record<Program, string> = { rclone: "rclone", aws: "AWS CLI", s3cmd: "s3cmd" };

/** The configuration of a program, and a command to try it with. */
export function ClientConfig({
  bucket,
  credentials,
  program,
  onProgram,
}: {
  bucket: BucketAddress;
  credentials: Credentials;
  program: Program;
  onProgram: (program: Program) => void;
}) {
  const { t } = useText();
  const { file, text, test } = configOf(program, bucket, credentials);
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <p className="min-w-0 truncate font-mono text-ink-3 text-xs">{file}</p>
        <Segmented
          label={t("storages.configFor")}
          value={program}
          onChange={onProgram}
          choices={(Object.keys(names) as Program[]).map((value) => ({ value, label: names[value] }))}
        />
      </div>
      <CopyBox lines text={text} label={t("storages.copyConfig")} />
      <CopyBox lines text={test} label={t("storages.copyTest")} />
    </div>
  );
}
