import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { updateMe } from "@/api/generated/operations";
import { useAct } from "@/api/query";
import { me } from "@/api/session";
import { type Language, setLanguage, useText } from "@/i18n";
import { describe } from "@/ui/error";
import { notify } from "@/ui/toast";

/** Changes the language of this page at once, and of the account for other browsers. */
export function useLanguageChoice(): (language: Language) => void {
  const { t } = useText();
  const client = useQueryClient();
  const save = useAct((language: Language, key) => call(updateMe, { body: { language } }, { key }), {
    onDone: (answer) => client.setQueryData(me.queryKey, answer),
    onFailed: (error) =>
      notify({ failed: true, title: t("nav.languageNotSaved"), detail: describe(error, t) }),
  });
  return (language) => {
    void setLanguage(language);
    save.run(language);
  };
}
