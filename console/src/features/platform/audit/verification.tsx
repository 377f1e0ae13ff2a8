import { useState } from "react";
import { call } from "@/api/client";
import type { AuditVerification } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Panel } from "@/ui/page";
import { StateMark } from "@/ui/state";
import { useTenantName } from "../parts/names";
import { type Log, logs } from "./logs";
import { verifications } from "./queries";
import { useLogWords } from "./words";

type Verdicts = { log: Log; result: AuditVerification }[];

/** Reads all chains on demand: it is no cheap read. The verdict stays on the page. */
export function Verification() {
  const { t } = useText();
  const { clock } = useFormat();
  const now = useNow();
  const [done, setDone] = useState<{ verdicts: Verdicts; at: string } | null>(null);
  const verify = useAct(
    async (): Promise<Verdicts> =>
      Promise.all(logs.map(async (log) => ({ log, result: await call(verifications[log], {}) }))),
    { onDone: (verdicts) => setDone({ verdicts, at: new Date(now).toISOString() }) },
  );
  const broken = done?.verdicts.flatMap((it) => it.result.broken) ?? [];
  const sum = (of: (it: AuditVerification) => number) =>
    done?.verdicts.reduce((all, it) => all + of(it.result), 0) ?? 0;
  return (
    <Panel className="mb-5 px-4 py-3">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <div role="status" className="min-w-0">
          {!done && <p className="text-ink-2 text-sm">{t("audit.notVerified")}</p>}
          {done && (
            <StateMark
              mark={broken.length > 0 ? "failed" : "runs"}
              reason={t("audit.verifiedAt", {
                time: clock(done.at),
                entries: sum((it) => it.entries),
                chains: sum((it) => it.chains),
              })}
            >
              {broken.length > 0 ? t("audit.broken", { count: broken.length }) : t("audit.whole")}
            </StateMark>
          )}
        </div>
        <Button small busy={verify.busy} onClick={() => verify.run()}>
          {verify.busy ? t("audit.verifying") : t("audit.verify")}
        </Button>
      </div>
      {done && broken.length > 0 && <Broken verdicts={done.verdicts} />}
      {verify.error && <ErrorLine error={verify.error} className="mt-3" />}
    </Panel>
  );
}

function Broken({ verdicts }: { verdicts: Verdicts }) {
  const { t } = useText();
  const tenant = useTenantName();
  const words = useLogWords();
  return (
    <>
      <ul className="num mt-2 space-y-0.5 text-sm">
        {verdicts.flatMap(({ log, result }) =>
          result.broken.map((it) => (
            <li key={`${log}-${it.tenant_id}-${it.number}`}>
              {t("audit.brokenEntry", {
                log: words[log],
                number: it.number,
                chain: it.tenant_id ? tenant(it.tenant_id) : t("audit.ofPlatform"),
              })}
            </li>
          )),
        )}
      </ul>
      <p className="mt-2 text-ink-2 text-sm">{t("audit.brokenNext")}</p>
    </>
  );
}
