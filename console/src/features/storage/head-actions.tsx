import { useQuery } from "@tanstack/react-query";
import { storageSpecs } from "@/api/catalogue";
import type { Storage } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { type StorageAction, whyNotNow } from "@/domain/storages/acts";
import { StorageMenu } from "@/domain/storages/menu";
import { isMountable } from "@/domain/storages/mountable";
import { useText } from "@/i18n";
import { Button, ButtonLink } from "@/ui/button";

export function HeadActions({ it, onAct }: { it: Storage; onAct: (action: StorageAction) => void }) {
  const { t } = useText();
  const me = useMe();
  const { data: specs } = useQuery(storageSpecs);
  const whyNotStart = useWhyNot("instances.write");
  return (
    <>
      {isMountable(it) &&
        (whyNotStart ? (
          <Button disabled={whyNotStart}>{t("storages.startWith")}</Button>
        ) : (
          <ButtonLink to="/instances/new" search={{ storage: it.id }}>
            {t("storages.startWith")}
          </ButtonLink>
        ))}
      <Button disabled={whyNotNow(me, it, "grow", t, specs)} onClick={() => onAct("grow")}>
        {t("storages.grow")}
      </Button>
      <StorageMenu it={it} onAct={onAct} here />
    </>
  );
}
