import { useText } from "@/i18n";

/** "30 min", "6 h": a duration from the settings. */
export function useLength() {
  const { t } = useText();
  return (seconds: number) => {
    const minutes = Math.round(seconds / 60);
    const [hours, rest] = [Math.floor(minutes / 60), minutes % 60];
    if (hours === 0) return t("instance.minutes", { minutes });
    return rest === 0 ? t("instance.hours", { hours }) : t("instance.hoursMinutes", { hours, minutes: rest });
  };
}
