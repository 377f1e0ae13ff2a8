import { useState } from "react";
import { useText } from "@/i18n";
import { CopyBox } from "./copy";
import { Segmented } from "./segmented";

export interface CodeSample {
  /** Name of the language or tool: `Python`. */
  name: string;
  code: string;
}

/** The same in several languages, to copy. */
export function CodeSamples({ label, samples }: { label: string; samples: readonly CodeSample[] }) {
  const { t } = useText();
  const [name, setName] = useState(samples[0]?.name ?? "");
  const shown = samples.find((it) => it.name === name) ?? samples[0];
  if (!shown) return null;
  return (
    <div className="min-w-0 space-y-2">
      <div className="flex">
        <Segmented
          label={label}
          value={shown.name}
          choices={samples.map((it) => ({ value: it.name, label: it.name }))}
          onChange={setName}
        />
      </div>
      <CopyBox lines text={shown.code} label={t("ui.copyCode", { name: shown.name })} />
    </div>
  );
}
