import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { stock } from "@/api/catalogue";
import { call } from "@/api/client";
import { deleteGpuSpec, updateGpuSpec } from "@/api/generated/operations";
import type { GpuSpec, GpuSpecState } from "@/api/generated/types";
import { useAct } from "@/api/query";
import { gpuSpec } from "@/api/stock";
import { useText } from "@/i18n";
import { ConfirmDialog } from "@/ui/dialog";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import { notify } from "@/ui/toast";

interface Props {
  spec: GpuSpec;
  units: { used: number; total: number };
}

/** Changes the state whatever else was changed: the press is about nothing else. */
const useSetState = (spec: GpuSpec, onDone: () => void) => {
  const { t } = useText();
  return useAct(
    (state: GpuSpecState, key) =>
      call(updateGpuSpec, { path: { id: spec.id }, headers: { "If-Match": "*" }, body: { state } }, { key }),
    {
      touches: [["gpu-specs"], stock.queryKey],
      onDone: (_, state) => {
        notify({
          title: t(state === "retired" ? "catalogue.specRetired" : "catalogue.specOffered", {
            name: spec.name,
          }),
        });
        onDone();
      },
      onFailed: (error, state) => {
        if (state === "active") notify({ failed: true, title: spec.name, detail: describe(error, t) });
      },
    },
  );
};

export function SpecMenu({ spec, units }: Props) {
  const { t } = useText();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [asks, setAsks] = useState<"retire" | "delete" | null>(null);
  const setState = useSetState(spec, () => setAsks(null));
  const remove = useAct((_: void, key) => call(deleteGpuSpec, { path: { id: spec.id } }, { key }), {
    onDone: async () => {
      notify({ title: t("catalogue.deleted", { name: spec.name }) });
      setAsks(null);
      await navigate({ to: "/admin/gpu-specs" });
      // not before: its own page would ask for it
      client.removeQueries({ queryKey: gpuSpec(spec.id).queryKey });
      await client.invalidateQueries({ queryKey: ["gpu-specs"] });
    },
  });
  const { name } = spec;
  return (
    <>
      <ActionMenu
        label={t("catalogue.actions", { name })}
        entries={[
          {
            key: "edit",
            label: t("catalogue.change"),
            onSelect: () => void navigate({ to: "/admin/gpu-specs/$id/edit", params: { id: spec.id } }),
          },
          {
            key: "like",
            label: t("catalogue.newLike"),
            onSelect: () => void navigate({ to: "/admin/gpu-specs/new", search: { like: name } }),
          },
          "line",
          spec.state === "active"
            ? { key: "retire", label: t("catalogue.retire"), onSelect: () => setAsks("retire") }
            : { key: "offer", label: t("catalogue.offerAgain"), onSelect: () => setState.run("active") },
          {
            key: "delete",
            label: t("catalogue.delete"),
            danger: true,
            disabled: units.total > 0 && t("catalogue.deleteNeedsNoUnits", { count: units.total }),
            onSelect: () => setAsks("delete"),
          },
        ]}
      />
      <ConfirmDialog
        harmless
        open={asks === "retire"}
        onClose={() => {
          setAsks(null);
          setState.reset();
        }}
        onConfirm={() => setState.run("retired")}
        busy={setState.busy}
        error={setState.error}
        title={t("catalogue.retireTitle", { name })}
        verb={t("catalogue.retireVerb")}
      >
        <p>{t("catalogue.retireHint")}</p>
        <p>
          {units.used > 0 ? t("catalogue.retireUsed", { count: units.used }) : t("catalogue.retireUnused")}
        </p>
      </ConfirmDialog>
      <ConfirmDialog
        open={asks === "delete"}
        onClose={() => {
          setAsks(null);
          remove.reset();
        }}
        onConfirm={() => remove.run()}
        busy={remove.busy}
        error={remove.error}
        title={t("catalogue.deleteTitle", { name })}
        verb={t("catalogue.deleteVerb")}
      >
        <p>{t("catalogue.deleteSpecHint")}</p>
      </ConfirmDialog>
    </>
  );
}
