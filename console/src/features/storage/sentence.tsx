import type { Storage } from "@/api/generated/types";
import { useStorageText } from "@/domain/storages/describe";
import { reasonOf } from "@/domain/storages/standing";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";

/** How it stands, in numbers, and what it waits for. */
export function Sentence({ it }: { it: Storage }) {
  const { t, language } = useText();
  const { sentences } = useFormat();
  const text = useStorageText();
  const isGrowing = it.capacity_gib !== null && it.capacity_gib < it.size_gib;
  // the box below says why it failed
  const reason = it.reason && it.state !== "failed" ? reasonOf(it, t, language) : null;
  return (
    <>
      {sentences([
        t("storages.sizePrice", { size: it.size_gib, price: text.price(it) }),
        isGrowing && t("storages.sizeWhile", { ready: it.capacity_gib ?? 0, size: it.size_gib }),
        reason ?? false,
      ])}
    </>
  );
}
