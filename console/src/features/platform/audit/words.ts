import { useText } from "@/i18n";
import type { Log } from "./logs";

export function useLogWords(): Record<Log, string> {
  const { t } = useText();
  return {
    identity: t("audit.identity"),
    gpu: t("audit.gpu"),
    stock: t("audit.stock"),
    storage: t("audit.storage"),
    jobs: t("audit.jobs"),
  };
}
