import { useState } from "react";
import { useText } from "@/i18n";

interface Versioned {
  updated_at: string;
}

/** The version that a form was filled from, and whether the thing has changed since. */
export function useBase<Thing extends Versioned>(current: Thing) {
  const [base, setBase] = useState(current);
  return { base, isChanged: base.updated_at !== current.updated_at, rebase: setBase };
}

/** One fact of a thing as a person reads it. */
export interface Fact {
  key: string;
  label: string;
  value: string;
}

export interface Difference {
  key: string;
  label: string;
  from: string;
  to: string;
}

/** Facts whose values differ, in the order of `to`. */
export const differencesOf = (from: readonly Fact[], to: readonly Fact[]): Difference[] =>
  to.flatMap(({ key, label, value }) => {
    const before = from.find((fact) => fact.key === key)?.value ?? "";
    return before === value ? [] : [{ key, label, from: before, to: value }];
  });

export function DifferenceText({ it }: { it: Difference }) {
  return (
    <>
      {it.label}: <s className="text-ink-3">{it.from || "–"}</s>{" "}
      <span className="font-medium">{it.to || "–"}</span>
    </>
  );
}

/** Somebody else was faster: what they changed, and that nothing typed is lost. */
export function ChangedMeanwhile({ differences }: { differences: readonly Difference[] }) {
  const { t } = useText();
  return (
    <div
      role="alert"
      className="num rounded-md border border-ochre bg-ochre-wash px-3.5 py-2.5 text-sm [&_s]:text-ink-2"
    >
      <p className="font-medium text-ochre">{t("stock.changedTitle")}</p>
      <ul className="mt-1 space-y-1">
        {differences.map((it) => (
          <li key={it.key} className="break-words">
            <DifferenceText it={it} />
          </li>
        ))}
      </ul>
      <p className="mt-1 text-ink-2">{t("stock.changedHint")}</p>
    </div>
  );
}
