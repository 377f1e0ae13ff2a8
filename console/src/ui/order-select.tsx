import { useText } from "@/i18n";
import type { Choice } from "./choice";
import { Select } from "./select";

interface Props<T extends string> {
  value: T;
  choices: readonly Choice<T>[];
  onChange: (value: T) => void;
}

/** In which order a list is. */
export function OrderSelect<T extends string>(props: Props<T>) {
  const { t } = useText();
  return (
    <span className="ml-auto w-44 max-md:ml-0 max-md:w-full">
      <Select small label={t("ui.order")} {...props} />
    </span>
  );
}
