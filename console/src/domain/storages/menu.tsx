import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { storageSpecs } from "@/api/catalogue";
import type { Storage } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { whyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { ActionMenu } from "@/ui/menu";
import type { MenuEntry } from "@/ui/menu-entry";
import { type StorageAction, whyNotNow } from "./acts";
import { isMountable } from "./mountable";
import { standingOf } from "./standing";

/** All that can be done with a storage. What cannot says why. */
export function StorageMenu({
  it,
  onAct,
  here,
}: {
  it: Storage;
  onAct: (action: StorageAction, it: Storage) => void;
  /** On its own page: no way there. */
  here?: boolean;
}) {
  const { t } = useText();
  const me = useMe();
  const navigate = useNavigate();
  const { data: specs } = useQuery(storageSpecs);
  const entry = (action: StorageAction, label: string): MenuEntry => ({
    key: action,
    label,
    danger: action === "delete",
    disabled: whyNotNow(me, it, action, t, specs),
    onSelect: () => onAct(action, it),
  });
  const entries: (MenuEntry | "line")[] = [
    ...(here
      ? []
      : [
          {
            key: "details",
            label: t("storages.details"),
            onSelect: () => void navigate({ to: "/storages/$id", params: { id: it.id } }),
          },
        ]),
    ...(it.kind === "volume"
      ? [
          {
            key: "start",
            label: t("storages.startWith"),
            disabled:
              whyNot(me, "instances.write", t) ||
              (!isMountable(it) && t("storages.notWhile", { state: t(standingOf(it).word) })),
            onSelect: () => void navigate({ to: "/instances/new", search: { storage: it.id } }),
          },
        ]
      : []),
    entry("grow", t("storages.grow")),
    entry("rename", t("storages.rename")),
    "line",
    entry("delete", t("storages.deleteDots")),
  ];
  return <ActionMenu label={t("storages.actionsFor", { name: it.name })} entries={entries} />;
}
