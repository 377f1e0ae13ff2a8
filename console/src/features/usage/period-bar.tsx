import { useText } from "@/i18n";
import { TextField } from "@/ui/field";
import { Segmented } from "@/ui/segmented";
import { type Choice, DAY, dayOf, type Window } from "./period";

/** Which time is shown. */
export function PeriodBar({
  choice,
  window,
  onChange,
}: {
  choice: Choice;
  window: Window;
  /** Gets what changes of the choice. */
  onChange: (change: Partial<Choice>) => void;
}) {
  const { t } = useText();
  const period = choice.period ?? "month";
  const shown = { from: dayOf(window.from), to: dayOf(Math.min(window.end - DAY, window.to - 1)) };
  const own = { from: choice.from ?? shown.from, to: choice.to ?? shown.to };
  const today = dayOf(Date.now());
  const words = {
    month: t("usage.periodMonth"),
    "last-month": t("usage.periodLastMonth"),
    "7d": t("usage.period7d"),
    own: t("usage.periodOwn"),
  };
  return (
    <div className="mb-4 flex flex-wrap items-end gap-x-4 gap-y-3">
      <Segmented
        label={t("usage.period")}
        value={period}
        choices={(["month", "last-month", "7d", "own"] as const).map((value) => ({
          value,
          label: words[value],
        }))}
        onChange={(next) =>
          onChange(
            next === "own"
              ? { period: next, ...shown }
              : { period: next === "month" ? undefined : next, from: undefined, to: undefined },
          )
        }
      />
      {period === "own" && (
        <div className="flex gap-3 max-md:w-full max-md:[&>*]:flex-1">
          <TextField
            type="date"
            label={t("usage.from")}
            value={own.from}
            max={own.to}
            onChange={(event) => event.target.value && onChange({ from: event.target.value })}
          />
          <TextField
            type="date"
            label={t("usage.to")}
            value={own.to}
            min={own.from}
            max={today}
            onChange={(event) => event.target.value && onChange({ to: event.target.value })}
          />
        </div>
      )}
    </div>
  );
}
