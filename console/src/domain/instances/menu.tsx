import { useNavigate } from "@tanstack/react-router";
import type { Instance } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { whyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { useFormat } from "@/lib/format";
import { ActionMenu } from "@/ui/menu";
import type { MenuEntry } from "@/ui/menu-entry";
import { notify } from "@/ui/toast";
import { actAsCurl, type InstanceAction, useInstanceActs, whyNotNow } from "./acts";

/** What the state suggests, first. */
function mainAction(it: Pick<Instance, "state">): InstanceAction {
  return it.state === "stopped" ? "start" : "stop";
}

/** All that can be done with an instance. What cannot says why. */
export function InstanceMenu({
  it,
  onDelete,
  onRename,
  here,
}: {
  it: Instance;
  onDelete: (it: Instance) => void;
  onRename?: () => void;
  /** On its own page: no way there. */
  here?: boolean;
}) {
  const { t } = useText();
  const { money } = useFormat();
  const me = useMe();
  const act = useInstanceActs();
  const navigate = useNavigate();
  const main = mainAction(it);
  const price = t("ui.perHour", { price: money(it.price_per_hour, it.currency) });
  const entry = (action: InstanceAction, label: string, note?: string): MenuEntry => ({
    key: action,
    label,
    ...(note && { note }),
    disabled: whyNotNow(me, it, action, t),
    onSelect: () => act(action, it),
  });
  const copy = () =>
    void navigator.clipboard
      .writeText(actAsCurl(main, it.id))
      .then(() => notify({ title: t(main === "start" ? "instances.copiedStart" : "instances.copiedStop") }));
  const entries: (MenuEntry | "line")[] = [
    ...(it.state === "stopped"
      ? [
          entry("start", t("instances.startAt", { price })),
          ...(it.reason === "stock_exhausted"
            ? [entry("wait", t("instances.startWhenRoom", { price }), t("instances.startWhenRoomHint"))]
            : []),
        ]
      : [entry("stop", t("instances.stop")), entry("restart", t("instances.restart"))]),
    ...(it.hold ? [entry("release", t("instances.release"), t("instances.releaseHint"))] : []),
    "line",
    ...(here
      ? []
      : [
          {
            key: "details",
            label: t("instances.details"),
            onSelect: () => void navigate({ to: "/instances/$id", params: { id: it.id } }),
          },
        ]),
    ...(onRename
      ? [
          {
            key: "rename",
            label: t("instances.rename"),
            disabled: whyNot(me, "instances.write", t),
            onSelect: onRename,
          },
        ]
      : []),
    {
      key: "curl",
      label: t(main === "start" ? "instances.curlStart" : "instances.curlStop"),
      onSelect: copy,
    },
    "line",
    {
      key: "delete",
      label: t("instances.deleteDots"),
      danger: true,
      disabled: whyNotNow(me, it, "delete", t),
      onSelect: () => onDelete(it),
    },
  ];
  return <ActionMenu label={t("instances.actionsFor", { name: it.name })} entries={entries} />;
}
