import { useId } from "react";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { type Level, levelsOf, type Rights, thingsFor } from "./scopes";

const levels = ["none", "read", "write"] as const;

/** One choice a thing: nothing, see, change. */
export function RightsGrid({
  value,
  onChange,
  error,
}: {
  value: Rights;
  onChange: (rights: Rights) => void;
  error: string | undefined;
}) {
  const { t } = useText();
  const me = useMe();
  const id = useId();
  const words: Record<Level, string> = { none: t("keys.none"), read: t("keys.read"), write: t("keys.write") };
  return (
    <fieldset>
      <legend className="mb-1 font-medium text-sm">{t("keys.scopesOf")}</legend>
      <div className="divide-y divide-line rounded-md border border-line text-sm">
        {thingsFor(me.role, me.user.admin).map((thing) => (
          <div
            key={thing}
            role="radiogroup"
            aria-label={t(`keys.things.${thing}`)}
            className="grid min-h-9 grid-cols-[1fr_4rem_4rem_5.5rem] items-center gap-x-2 px-3 max-md:grid-cols-3 max-md:py-2"
          >
            <span className="max-md:col-span-3 max-md:font-medium">{t(`keys.things.${thing}`)}</span>
            {levels.map((level) =>
              levelsOf(thing).includes(level) ? (
                <label
                  key={level}
                  className="flex cursor-pointer items-center gap-1.5 text-ink-2 max-md:min-h-9"
                >
                  <input
                    type="radio"
                    name={`${id}-${thing}`}
                    className="size-4"
                    checked={value[thing] === level}
                    onChange={() => onChange({ ...value, [thing]: level })}
                  />
                  {words[level]}
                </label>
              ) : (
                <span key={level} />
              ),
            )}
          </div>
        ))}
      </div>
      {error && <p className="mt-1 text-vermilion text-xs">{error}</p>}
    </fieldset>
  );
}
