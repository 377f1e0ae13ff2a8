import type { DeliveryAttempt } from "@/api/generated/types";
import { type Text, useText } from "@/i18n";

/** What came of an attempt: "answered 500", "no answer within 10 seconds". */
export function attemptText({ status, error }: DeliveryAttempt, t: Text): string {
  switch (error) {
    case "timed_out":
      return t("webhooks.timedOut");
    case "no_connection":
      return t("webhooks.noConnection");
    case "address_not_allowed":
      return t("webhooks.addressNotAllowed");
    default:
      return t("webhooks.answered", { status: String(status ?? "") });
  }
}

export function useAttemptText() {
  const { t } = useText();
  return (attempt: DeliveryAttempt) => attemptText(attempt, t);
}
