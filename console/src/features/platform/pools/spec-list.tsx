import { ArrowDown, ArrowUp, X } from "lucide-react";
import { stock } from "@/api/catalogue";
import { useLoaded } from "@/api/query";
import { everyGpuSpec } from "@/api/stock";
import { useSpecText } from "@/domain/catalogue/spec-text";
import { totalsOf } from "@/domain/catalogue/stock";
import { useText } from "@/i18n";
import { focusField } from "@/lib/form";
import { useFormat } from "@/lib/format";
import { IconButton } from "@/ui/button";
import { Panel } from "@/ui/page";
import { SelectField } from "@/ui/select";

/** The specifications of a pool's workers, in the order in which jobs prefer them: firm workers have the first. */
export function SpecList({
  value,
  onChange,
  error,
}: {
  value: readonly string[];
  onChange: (next: readonly string[]) => void;
  error: string | undefined;
}) {
  const { t } = useText();
  const specs = useLoaded(everyGpuSpec);
  const others = specs.filter((it) => it.state === "active" && !value.includes(it.name));
  const describe = useDescribe();
  const swap = (a: number, b: number) => {
    const next = [...value];
    [next[a], next[b]] = [value[b] ?? "", value[a] ?? ""];
    onChange(next);
    focusField(`gpu_specs.${b}`);
  };
  return (
    <Panel>
      {value.length > 0 && (
        <ol className="divide-y divide-line border-line border-b">
          {value.map((name, i) => (
            <li
              key={name}
              className="grid min-h-12 grid-cols-[1.5rem_minmax(0,1fr)_auto] items-center gap-x-2 py-1.5 pr-2 pl-4"
            >
              <span className="num text-ink-3 text-sm md:row-span-2">{i + 1}</span>
              <span className="flex min-w-0 flex-wrap items-baseline gap-x-2">
                <span className="font-medium font-mono text-xs">{name}</span>
                {i === 0 && <span className="text-ink-3 text-xs">{t("pools.firstSpec")}</span>}
              </span>
              <span className="flex md:row-span-2">
                <IconButton
                  name={`gpu_specs.${i}`}
                  label={t("pools.preferMore", { name })}
                  disabled={i === 0 && t("pools.isFirst")}
                  onClick={() => swap(i, i - 1)}
                >
                  <ArrowUp className="size-4" aria-hidden="true" />
                </IconButton>
                <IconButton
                  label={t("pools.preferLess", { name })}
                  disabled={i === value.length - 1 && t("pools.isLast")}
                  onClick={() => swap(i, i + 1)}
                >
                  <ArrowDown className="size-4" aria-hidden="true" />
                </IconButton>
                <IconButton
                  label={t("pools.leaveOut", { name })}
                  onClick={() => onChange(value.filter((it) => it !== name))}
                >
                  <X className="size-4" aria-hidden="true" />
                </IconButton>
              </span>
              <span className="num text-ink-2 text-xs max-md:col-span-2 max-md:col-start-2">
                {describe(name)}
              </span>
            </li>
          ))}
        </ol>
      )}
      <div className="p-4">
        <SelectField
          name="gpu_specs"
          label={t("pools.addSpec")}
          hint={value.length === 0 ? t("pools.addFirstHint") : t("pools.addMoreHint")}
          error={error}
          value=""
          onChange={(name) => onChange([...value, name])}
          choices={others.map((it) => ({ value: it.name, label: it.name, hint: describe(it.name) }))}
        />
      </div>
    </Panel>
  );
}

/** What one unit has, its price, and how many are free. */
function useDescribe() {
  const { t } = useText();
  const { money } = useFormat();
  const specText = useSpecText();
  const specs = useLoaded(everyGpuSpec);
  const rows = useLoaded(stock);
  return (name: string) => {
    const spec = specs.find((it) => it.name === name);
    if (!spec) return t("pools.unknownSpec");
    const { available } = totalsOf(rows.filter((row) => row.gpu_spec.name === name));
    return [
      specText(spec),
      t("ui.perHour", { price: money(spec.price_per_hour, spec.currency) }),
      t("pools.freeUnits", { count: available }),
    ].join(" · ");
  };
}
