import type { Alternative } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { useDescribe } from "@/domain/instances/describe";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { Button } from "@/ui/button";
import { RequestId } from "@/ui/error";

/** Why the order was refused, and what can be pressed instead. */
export function Refused({
  error,
  onInstead,
}: {
  error: Error | null;
  onInstead: (spec: string, datacenter: string) => void;
}) {
  const { t } = useText();
  const { money } = useFormat();
  const describe = useDescribe();
  if (!error) return null;
  const alternatives =
    error instanceof ApiError && error.is("stock-exhausted")
      ? (((error.problem as Record<string, unknown>).alternatives as Alternative[] | undefined) ?? [])
      : [];
  const isAtField = error instanceof ApiError && Object.keys(error.fields).length > 0;
  return (
    <div role="alert" className="mt-3 rounded-md border border-vermilion bg-vermilion-wash px-3 py-2 text-sm">
      <p className="text-vermilion">{isAtField ? t("start.seeFields") : describe(error)}</p>
      {alternatives.length > 0 && (
        <div className="mt-2 grid gap-1.5">
          {alternatives.slice(0, 2).map((it) => (
            <Button
              small
              key={it.gpu_spec.id + it.datacenter.id}
              onClick={() => onInstead(it.gpu_spec.name, it.datacenter.name)}
            >
              {t("start.takeInstead", {
                spec: it.gpu_spec.name,
                place: it.datacenter.name,
                price: t("ui.perHour", { price: money(it.price_per_hour, it.currency) }),
              })}
            </Button>
          ))}
        </div>
      )}
      <RequestId error={error} />
    </div>
  );
}
