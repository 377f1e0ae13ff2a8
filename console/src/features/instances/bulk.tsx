import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Instance } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { actOn, type InstanceAction, whyNotNow } from "@/domain/instances/acts";
import { Stays } from "@/domain/instances/delete-dialog";
import { useDescribe } from "@/domain/instances/describe";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ratesOf } from "@/lib/money";
import { pooled } from "@/lib/pool";
import { Button } from "@/ui/button";
import { ConfirmDialog, Dialog } from "@/ui/dialog";
import { Ring } from "@/ui/state";

interface Result {
  it: Instance;
  state: "open" | "done" | "refused";
  why: string | null;
}

/** How many requests of one press are on their way at once. */
const TOGETHER = 4;

/** What can be done with all that are chosen, and what became of each. In place of the filter while some are. */
export default function Bulk({
  items,
  onEnd,
  children,
}: {
  items: readonly Instance[];
  onEnd: () => void;
  children: ReactNode;
}) {
  const { t } = useText();
  const { list, total } = useFormat();
  const me = useMe();
  const client = useQueryClient();
  const describe = useDescribe();
  const [results, setResults] = useState<Result[] | null>(null);
  const [asks, setAsks] = useState(false);
  const possible = (action: InstanceAction) => items.filter((it) => !whyNotNow(me, it, action, t));
  const run = async (action: InstanceAction) => {
    const targets = possible(action);
    setAsks(false);
    setResults(targets.map((it) => ({ it, state: "open", why: null })));
    onEnd();
    const told = (it: Instance, change: Partial<Result>) =>
      setResults((old) => old?.map((one) => (one.it.id === it.id ? { ...one, ...change } : one)) ?? null);
    await pooled(targets, TOGETHER, (it) =>
      actOn(client, action, it.id).then(
        () => told(it, { state: "done" }),
        (error: unknown) => told(it, { state: "refused", why: describe(error) }),
      ),
    );
  };
  const starting = possible("start");
  const price = t("ui.perHour", { price: total(ratesOf(starting)) });
  const verb = (action: InstanceAction, label: string, press: () => void) => (
    <Button small disabled={possible(action).length === 0 && t("instances.bulkNone")} onClick={press}>
      {label}
    </Button>
  );
  return (
    <>
      {items.length === 0 ? (
        children
      ) : (
        <fieldset className="sticky top-0 z-5 mb-3 flex min-h-11 flex-wrap items-center gap-2 rounded-lg border border-ultra bg-ultra-wash px-4 py-1.5 max-md:top-13">
          <legend className="sr-only">{t("instances.chosen", { count: items.length })}</legend>
          <span className="num mr-2 font-medium text-sm">
            {t("instances.chosen", { count: items.length })}
          </span>
          {verb("stop", t("instances.bulkStop", { count: possible("stop").length }), () => void run("stop"))}
          {verb(
            "start",
            starting.length > 0
              ? t("instances.bulkStart", { count: starting.length, price })
              : t("instances.start"),
            () => void run("start"),
          )}
          {verb("delete", t("instances.bulkDelete", { count: possible("delete").length }), () =>
            setAsks(true),
          )}
          <Button small kind="quiet" className="ml-auto" onClick={onEnd}>
            {t("instances.unchoose")}
          </Button>
        </fieldset>
      )}
      <ConfirmDialog
        open={asks}
        onClose={() => setAsks(false)}
        onConfirm={() => void run("delete")}
        title={t("instances.bulkDeleteTitle", { count: possible("delete").length })}
        verb={t("instances.delete")}
      >
        <p>{list(possible("delete").map((it) => it.name))}</p>
        <p>{t("instances.deleteRunning")}</p>
        <Stays of={possible("delete")} />
      </ConfirmDialog>
      {results && <Results results={results} onClose={() => setResults(null)} />}
    </>
  );
}

function Results({ results, onClose }: { results: Result[]; onClose: () => void }) {
  const { t } = useText();
  const count = (state: Result["state"]) => results.filter((it) => it.state === state).length;
  const refused = count("refused");
  const words = { open: t("instances.bulkOpen"), done: t("instances.bulkOk") };
  const marks = { open: "moves", done: "runs", refused: "failed" } as const;
  return (
    <Dialog
      open
      onClose={onClose}
      title={t("instances.bulkTitle")}
      description={
        <p role="status">
          {t("instances.bulkDone", { done: count("done"), count: results.length })}
          {refused > 0 && `, ${t("instances.bulkRefused", { count: refused })}. ${t("instances.bulkHint")}`}
        </p>
      }
      footer={
        <Button kind="primary" onClick={onClose}>
          {t("ui.done")}
        </Button>
      }
    >
      <ul className="space-y-2">
        {results.map(({ it, state, why }) => (
          <li key={it.id} className="grid grid-cols-[auto_minmax(0,1fr)] items-start gap-x-2.5 text-sm">
            <Ring mark={marks[state]} className="mt-1.25" />
            <span>
              <span className="font-medium">{it.name}</span>{" "}
              <span className="text-ink-3">{state === "refused" ? "" : words[state]}</span>
              {why && <span className="block text-vermilion">{why}</span>}
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
