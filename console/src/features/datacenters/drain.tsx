import { useState } from "react";
import { datacenters, stock } from "@/api/catalogue";
import { call } from "@/api/client";
import { updateDatacenter } from "@/api/generated/operations";
import type { Datacenter, DatacenterState } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { useText } from "@/i18n";
import { Button } from "@/ui/button";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { notify } from "@/ui/toast";

/** Takes a datacenter out of use, or into use again. */
export function DrainButton({
  place,
  total,
}: {
  place: Datacenter;
  total: { available: number; inactive: number; used: number };
}) {
  const { t } = useText();
  const [asks, setAsks] = useState(false);
  const { name } = place;
  const set = useAct(
    (state: DatacenterState, key) =>
      call(
        updateDatacenter,
        { path: { id: place.id }, headers: { "If-Match": "*" }, body: { state } },
        { key },
      ),
    {
      touches: [datacenters.queryKey, stock.queryKey],
      onDone: (_, state) => {
        setAsks(false);
        notify({ title: t(state === "draining" ? "catalogue.drains" : "catalogue.backInUse", { name }) });
      },
      onFailed: (error, state) => {
        if (state === "active") notify({ failed: true, title: name, detail: describe(error, t) });
      },
    },
  );
  if (place.state === "draining")
    return (
      <Button busy={set.busy} onClick={() => set.run("active")}>
        {t("catalogue.useAgain")}
      </Button>
    );
  const free = total.available + total.inactive;
  return (
    <>
      <Button onClick={() => setAsks(true)}>{t("catalogue.drain")}</Button>
      <ConfirmDialog
        harmless
        open={asks}
        onClose={() => {
          setAsks(false);
          set.reset();
        }}
        onConfirm={() => set.run("draining")}
        busy={set.busy}
        error={set.error}
        title={t("catalogue.drainTitle", { name })}
        verb={t("catalogue.drainVerb")}
      >
        <ul className="list-disc space-y-1 pl-4">
          <li>{t("catalogue.drainNothingNew")}</li>
          <li>
            {total.used > 0
              ? t("catalogue.drainGoesOn", { count: total.used })
              : t("catalogue.drainNoneRuns")}
          </li>
          <li>{free > 0 ? t("catalogue.drainFree", { count: free }) : t("catalogue.drainNoneFree")}</li>
          <li>{t("catalogue.drainBack")}</li>
        </ul>
      </ConfirmDialog>
    </>
  );
}
