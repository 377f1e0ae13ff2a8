import type { InstanceLog } from "@/api/generated/types";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Select } from "@/ui/select";

const LATEST = "latest";

/** Which start's log is shown. */
export default function Attempts({
  kept,
  attempt,
  onChange,
}: {
  kept: readonly InstanceLog[];
  attempt: number | undefined;
  onChange: (attempt: number | undefined) => void;
}) {
  const { t } = useText();
  const { clock } = useFormat();
  return (
    <Select
      label={t("instance.logOf")}
      small
      value={attempt ? String(attempt) : LATEST}
      choices={[
        { value: LATEST, label: t("instance.logNewest") },
        ...kept.map((one) => ({
          value: String(one.attempt),
          label: t("instance.logAttempt", { when: clock(one.first_line_at) }),
          hint:
            t("instance.logLines", { count: one.lines }) +
            (one.has_gaps ? ` · ${t("instance.logHasGaps")}` : ""),
        })),
      ]}
      onChange={(value) => onChange(value === LATEST ? undefined : Number(value))}
    />
  );
}
