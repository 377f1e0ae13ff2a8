import { useQuery } from "@tanstack/react-query";
import { storageSpecs } from "@/api/catalogue";
import type { StorageId } from "@/api/generated/types";
import { useLoaded } from "@/api/query";
import { useMe } from "@/api/session";
import { storage } from "@/api/storages/queries";
import { type StorageAction, whyNotNow } from "@/domain/storages/acts";
import { useStorageText } from "@/domain/storages/describe";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Panel, Row, Section } from "@/ui/page";
import { useOpen } from "./use-open";

/** What can be changed. Kind and datacenter stay as they are. */
export function SettingsPage({ id }: { id: StorageId }) {
  const { t } = useText();
  const text = useStorageText();
  const me = useMe();
  const it = useLoaded(storage(id));
  const show = useOpen();
  const { data: specs } = useQuery(storageSpecs);
  const why = (action: StorageAction) => whyNotNow(me, it, action, t, specs);
  return (
    <div className="max-w-176">
      <Section title={t("storages.general")}>
        <Panel>
          <Row title={t("storages.name")} hint={it.name}>
            <Button disabled={why("rename")} onClick={() => show("rename")}>
              {t("storages.rename")}
            </Button>
          </Row>
          <Row
            title={t("storages.size")}
            hint={t("storages.growRowHint", { size: it.size_gib, price: text.price(it) })}
          >
            <Button disabled={why("grow")} onClick={() => show("grow")}>
              {t("storages.grow")}
            </Button>
          </Row>
        </Panel>
      </Section>
      <Section title={t("storages.delete")}>
        <Panel>
          <Row title={t("storages.deleteRow")} hint={t("storages.deleteLost")}>
            <Button disabled={why("delete")} onClick={() => show("delete")}>
              <span className="text-vermilion">{t("storages.deleteDots")}</span>
            </Button>
          </Row>
        </Panel>
      </Section>
    </div>
  );
}
