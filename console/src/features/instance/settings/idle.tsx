import { useState } from "react";
import type { IdleStopSettings, Instance } from "@/api/generated/types";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Row } from "@/ui/page";
import { Select } from "@/ui/select";
import { useLength } from "../length";

const OFF = "off";
const choices = [900, 1800, 3600, 2 * 3600, 4 * 3600, 8 * 3600, 24 * 3600];

/** After how long without use it stops itself. */
export function IdleField({
  it,
  disabled,
  busy,
  onSave,
}: {
  it: Instance;
  disabled: string | false;
  busy: boolean;
  onSave: (settings: IdleStopSettings | null) => void;
}) {
  const { t } = useText();
  const lengthOf = useLength();
  const now = it.idle_stop ? String(it.idle_stop.after_seconds) : OFF;
  const [wanted, setWanted] = useState(now);
  const lengths = [...new Set([...choices, ...(it.idle_stop ? [it.idle_stop.after_seconds] : [])])];
  return (
    <Row
      title={t("instance.idleStop")}
      hint={t("instance.idleWhile", {
        gpu: it.idle_stop?.gpu_below_percent ?? 5,
        cpu: it.idle_stop?.cpu_below_percent ?? 5,
      })}
    >
      <div className="w-36">
        <Select
          label={t("instance.idleStop")}
          value={wanted}
          choices={[
            { value: OFF, label: t("instance.notSet") },
            ...lengths
              .toSorted((a, b) => a - b)
              .map((seconds) => ({
                value: String(seconds),
                label: t("instance.idleAfter", { length: lengthOf(seconds) }),
              })),
          ]}
          onChange={setWanted}
        />
      </div>
      {wanted !== now && (
        <Button
          kind="primary"
          disabled={disabled}
          busy={busy}
          onClick={() =>
            onSave(
              wanted === OFF
                ? null
                : {
                    after_seconds: Number(wanted),
                    ...(it.idle_stop && {
                      gpu_below_percent: it.idle_stop.gpu_below_percent,
                      cpu_below_percent: it.idle_stop.cpu_below_percent,
                    }),
                  },
            )
          }
        >
          {t("ui.save")}
        </Button>
      )}
    </Row>
  );
}
