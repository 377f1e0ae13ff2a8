import { useNavigate } from "@tanstack/react-router";
import type { Model } from "@/api/generated/types";
import { useWhyNot } from "@/app/roles";
import { filePath } from "@/domain/models/files";
import { useText } from "@/i18n";
import { ActionMenu } from "@/ui/menu";

export type ModelDialog = "rename" | "delete";

export function ModelMenu({
  it,
  whole,
  onOpen,
}: {
  it: Model;
  /** Also what stands as buttons on the model's own page. */
  whole?: boolean;
  onOpen: (dialog: ModelDialog) => void;
}) {
  const { t } = useText();
  const navigate = useNavigate();
  const reason = useWhyNot("jobs.write");
  return (
    <ActionMenu
      label={t("models.actions", { name: it.name })}
      entries={[
        ...(whole
          ? ([
              {
                key: "pictures",
                label: t("models.pictures"),
                disabled: reason,
                onSelect: () => void navigate({ to: "/jobs/new", search: { model: it.id } }),
              },
              {
                key: "download",
                label: t("models.download"),
                onSelect: () => window.location.assign(filePath(it.id)),
              },
              "line",
            ] as const)
          : []),
        { key: "rename", label: t("models.rename"), disabled: reason, onSelect: () => onOpen("rename") },
        {
          key: "delete",
          label: t("models.delete"),
          danger: true,
          disabled: reason,
          onSelect: () => onOpen("delete"),
        },
      ]}
    />
  );
}
