import type { DeadMessage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { CopyBox } from "@/ui/copy";
import { KEPT } from "./replay";

/** Indented if it is JSON, else as it came. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** What the platform said, and the message: headers and body. */
export function MessageDetail({ it }: { it: DeadMessage }) {
  const { t } = useText();
  return (
    <div className="space-y-3 md:pl-6">
      <dl className="grid gap-x-8 gap-y-2 text-sm md:grid-cols-2">
        <div className="min-w-0">
          <dt className="text-ink-3 text-xs">{t("queue.detail")}</dt>
          <dd className="break-words font-mono text-xs leading-5">{it.detail}</dd>
        </div>
        <div className="min-w-0">
          <dt className="text-ink-3 text-xs">{t("queue.reqNo")}</dt>
          <dd className="break-all font-mono text-xs leading-5">{it.req_no ?? "–"}</dd>
        </div>
      </dl>
      <div>
        <p className="mb-1 font-medium text-sm">{t("queue.headers")}</p>
        <CopyBox lines text={JSON.stringify(it.headers, null, 2)} label={t("queue.copyHeaders")} />
      </div>
      <div>
        <p className="mb-1 font-medium text-sm">{t("queue.body")}</p>
        <div className="max-h-80 overflow-y-auto">
          <CopyBox lines text={pretty(it.body)} label={t("queue.copyBody")} />
        </div>
        {it.bytes > KEPT && (
          <p className="num mt-1 text-ink-3 text-xs">
            {t("queue.bodyCut", { size: Math.ceil(it.bytes / 1024) })}
          </p>
        )}
      </div>
    </div>
  );
}
