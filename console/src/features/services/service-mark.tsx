import type { ServiceImage } from "@/api/generated/types";
import { useText } from "@/i18n";
import { type Mark, StateMark } from "@/ui/state";

/** Whether users see the version, and whether new instances use it. */
export function ServiceMark({ image }: { image: ServiceImage }) {
  const { t } = useText();
  const [mark, word]: [Mark, string] = !image.enabled
    ? ["rests", t("catalogue.disabled")]
    : image.deprecated
      ? ["moves", t("catalogue.deprecated")]
      : ["runs", t(image.recommended ? "catalogue.recommended" : "catalogue.offered")];
  return <StateMark mark={mark}>{word}</StateMark>;
}
