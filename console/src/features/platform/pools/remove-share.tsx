import { asCurl, call } from "@/api/client";
import { deletePlatformPoolShare } from "@/api/generated/operations";
import type { PoolId, PoolShare } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { DifferenceText, differencesOf } from "@/domain/catalogue/changed";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { Changes } from "@/ui/changes";
import { CopyCurl } from "@/ui/copy";
import { Dialog } from "@/ui/dialog";
import { ErrorLine } from "@/ui/error";
import { notify } from "@/ui/toast";
import { useTenantName } from "../parts/names";
import { useShareFacts } from "./share-facts";

/** A tenant has the defaults again. */
export function RemoveShareDialog({
  poolId,
  share,
  onClose,
}: {
  poolId: PoolId;
  share: PoolShare;
  onClose: () => void;
}) {
  const { t } = useText();
  const name = useTenantName()(share.tenant_id);
  const facts = useShareFacts();
  const path = { id: poolId, tenant_id: share.tenant_id };
  const remove = useAct((_: void, key) => call(deletePlatformPoolShare, { path }, { key }), {
    touches: [["platform", "pools"]],
    onDone: () => {
      notify({ title: t("pools.shareRemoved", { name }) });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      onSubmit={() => remove.run()}
      title={t("pools.removeShareTitle", { name })}
      description={t("pools.shareHint")}
      footer={
        <>
          <CopyCurl command={asCurl(deletePlatformPoolShare, { path })} />
          <Button onClick={onClose}>{t("ui.cancel")}</Button>
          <Button kind="primary" type="submit" busy={remove.busy}>
            {t("pools.removeShareVerb")}
          </Button>
        </>
      }
    >
      <Changes
        title={t("stock.whatItDoes")}
        empty={t("pools.sameAsDefault")}
        changes={differencesOf(facts(share.share), facts({})).map((it) => ({
          key: it.key,
          sign: "→",
          text: <DifferenceText it={it} />,
        }))}
      />
      {remove.error && <ErrorLine error={remove.error} className="mt-4" />}
    </Dialog>
  );
}
