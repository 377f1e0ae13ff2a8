import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { datacenters } from "@/api/catalogue";
import { call } from "@/api/client";
import { deleteDatacenter } from "@/api/generated/operations";
import type { Datacenter } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { datacenter } from "@/api/stock";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";

export function DatacenterMenu({ place, units }: { place: Datacenter; units: number }) {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asks, setAsks] = useState(false);
  const { name } = place;
  const remove = useAct((_: void, key) => call(deleteDatacenter, { path: { id: place.id } }, { key }), {
    onDone: async () => {
      setAsks(false);
      notify({ title: t("catalogue.deleted", { name }) });
      await navigate({ to: "/admin/datacenters" });
      // not before: its own page would ask for it
      client.removeQueries({ queryKey: datacenter(place.id).queryKey });
      await client.invalidateQueries({ queryKey: datacenters.queryKey });
    },
  });
  return (
    <>
      <ActionMenu
        label={t("catalogue.actions", { name })}
        entries={[
          {
            key: "delete",
            label: t("catalogue.delete"),
            danger: true,
            disabled: units > 0 && t("catalogue.datacenterHasUnits", { count: units }),
            onSelect: () => setAsks(true),
          },
        ]}
      />
      <ConfirmDialog
        open={asks}
        onClose={() => {
          setAsks(false);
          remove.reset();
        }}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("catalogue.deleteTitle", { name })}
        verb={t("catalogue.deleteVerb")}
      >
        <p>{t("catalogue.deleteDatacenterHint")}</p>
      </ConfirmDialog>
    </>
  );
}
