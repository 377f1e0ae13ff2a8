import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { services } from "@/api/catalogue";
import { call } from "@/api/client";
import { deleteService, updateService } from "@/api/generated/operations";
import type { ServiceImage, ServiceImageChange } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { service } from "@/api/stock";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";

export function ServiceMenu({ image }: { image: ServiceImage }) {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asks, setAsks] = useState(false);
  const name = `${image.service} ${image.version}`;
  const set = useAct(
    (body: Pick<ServiceImageChange, "enabled" | "recommended" | "deprecated">, key) =>
      call(updateService, { path: { id: image.id }, headers: { "If-Match": "*" }, body }, { key }),
    {
      touches: [services.queryKey],
      onDone: () => notify({ title: t("catalogue.saved", { name }) }),
      onFailed: (error) => notify({ failed: true, title: name, detail: describe(error, t) }),
    },
  );
  const remove = useAct((_: void, key) => call(deleteService, { path: { id: image.id } }, { key }), {
    onDone: async () => {
      setAsks(false);
      notify({ title: t("catalogue.deleted", { name }) });
      await navigate({ to: "/admin/services" });
      // not before: its own page would ask for it
      client.removeQueries({ queryKey: service(image.id).queryKey });
      await client.invalidateQueries({ queryKey: services.queryKey });
    },
  });
  return (
    <>
      <ActionMenu
        label={t("catalogue.actions", { name })}
        entries={[
          {
            key: "like",
            label: t("catalogue.newVersion"),
            onSelect: () => void navigate({ to: "/admin/services/new", search: { like: image.id } }),
          },
          {
            key: "recommend",
            label: t("catalogue.recommend"),
            disabled: image.recommended
              ? t("catalogue.isRecommended")
              : (!image.enabled || image.deprecated) && t("catalogue.notOffered"),
            onSelect: () => set.run({ recommended: true }),
          },
          "line",
          image.deprecated
            ? {
                key: "offer",
                label: t("catalogue.undeprecate"),
                onSelect: () => set.run({ deprecated: false }),
              }
            : {
                key: "deprecate",
                label: t("catalogue.deprecate"),
                note: t("catalogue.deprecateNote"),
                onSelect: () => set.run({ deprecated: true }),
              },
          image.enabled
            ? {
                key: "disable",
                label: t("catalogue.disable"),
                note: t("catalogue.disableNote"),
                onSelect: () => set.run({ enabled: false }),
              }
            : { key: "enable", label: t("catalogue.enable"), onSelect: () => set.run({ enabled: true }) },
          { key: "delete", label: t("catalogue.delete"), danger: true, onSelect: () => setAsks(true) },
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
        <p>{t("catalogue.deleteServiceHint")}</p>
      </ConfirmDialog>
    </>
  );
}
