import type { Operation, OperationState } from "@/api/generated/types";
import { reasonOf } from "@/domain/storages/standing";
import { type PlainKey, useText } from "@/i18n";
import { useNow } from "@/lib/clock";
import { useFormat } from "@/lib/format";
import { type Mark, StateMark } from "@/ui/state";

const kinds: Record<string, PlainKey> = {
  create_storage: "storages.opCreate",
  resize_storage: "storages.opResize",
  delete_storage: "storages.opDelete",
};

const states: Record<OperationState, { mark: Mark; word: PlainKey }> = {
  pending: { mark: "moves", word: "storages.opPending" },
  running: { mark: "moves", word: "storages.opRunning" },
  succeeded: { mark: "runs", word: "storages.opSucceeded" },
  failed: { mark: "failed", word: "storages.opFailed" },
  cancelled: { mark: "rests", word: "storages.opCancelled" },
};

/** What it does, in a word; of a kind that is new, its code. */
export function OperationKind({ one }: { one: Operation }) {
  const { t } = useText();
  const word = kinds[one.kind];
  return <span className="font-medium text-sm">{word ? t(word) : one.kind}</span>;
}

/** How far it is, or how it ended, and why. */
export function OperationStanding({ one }: { one: Operation }) {
  const { t, language } = useText();
  const { mark, word } = states[one.state];
  const isOpen = one.finished_at === null;
  const { percent } = one.progress;
  const why = (isOpen || one.state === "failed") && reasonOf(one.progress, t, language);
  const reason = why || one.problem?.detail;
  return (
    <StateMark mark={mark} reason={reason}>
      {t(word)}
      {isOpen && percent !== null && (
        <span className="num font-normal">{t("storages.opPercent", { percent })}</span>
      )}
    </StateMark>
  );
}

/** How long it took, or takes until now. */
export function OperationTime({ one }: { one: Operation }) {
  const { duration } = useFormat();
  const now = useNow();
  const to = one.finished_at ? Date.parse(one.finished_at) : now;
  return <span className="num text-sm">{duration((to - Date.parse(one.created_at)) / 1000)}</span>;
}
