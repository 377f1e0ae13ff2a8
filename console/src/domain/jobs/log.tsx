import { useQuery } from "@tanstack/react-query";
import type { Job } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { jobLog } from "@/api/jobs/queries";
import { useText } from "@/i18n";
import { LogBox } from "@/ui/log-box";
import { Panel, Section } from "@/ui/page";

/** The end of the log is read anew while it grows. */
const LOOK = 2000;

/** What its program wrote; nothing of applications without a program of their own. */
export function JobLogSection({ it }: { it: Job }) {
  const { t } = useText();
  const isOver = hasEnded(it);
  const { data } = useQuery({
    ...jobLog(it.id),
    enabled: it.attempts > 0,
    ...(!isOver && { refetchInterval: LOOK }),
  });
  if (!data?.text) return null;
  return (
    <Section title={t("jobs.log")} hint={t("jobs.logHint")}>
      <Panel className="py-2.5">
        <LogBox label={t("jobs.log")} text={data.text} />
      </Panel>
    </Section>
  );
}
