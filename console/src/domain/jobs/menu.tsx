import { useNavigate } from "@tanstack/react-router";
import type { Job, JobLevel } from "@/api/generated/types";
import { hasEnded } from "@/api/jobs/cache";
import { useMe } from "@/api/session";
import { useWhyNot } from "@/app/roles";
import { useText } from "@/i18n";
import { describe } from "@/ui/error";
import { ActionMenu } from "@/ui/menu";
import type { MenuEntry } from "@/ui/menu-entry";
import { notify } from "@/ui/toast";
import { useCancel, useChange, useSubmit, whyNotCancel, whyNotChange } from "./acts";
import { pageOf } from "./address";
import { useAsked } from "./asked";
import { isPictures } from "./parameters";

const levels: readonly JobLevel[] = ["urgent", "ordinary", "background"];

/** What can be done with a job. */
export function JobMenu({ it, here }: { it: Job /** On its own page. */; here?: boolean }) {
  const { t } = useText();
  const navigate = useNavigate();
  const me = useMe();
  const { name, order } = useAsked(it);
  const cancel = useCancel(it);
  const change = useChange(it);
  const role = useWhyNot("jobs.write");
  const submit = useSubmit(
    () => notify({ title: t("jobs.submittedAgain", { name }) }),
    (error) => notify({ failed: true, title: t("jobs.notSubmitted", { name }), detail: describe(error, t) }),
  );
  const whyChange = whyNotChange(me, it, t);
  const note = t("jobs.priorityNote", { priority: it.priority });
  const waiting: (MenuEntry | "line")[] = hasEnded(it)
    ? []
    : [
        "line",
        ...levels
          .filter((level) => level !== it.level)
          .map((level) => ({
            key: level,
            label: t(`jobs.make_${level}`),
            disabled: whyChange,
            onSelect: () => change.run({ level }),
          })),
        {
          key: "sooner",
          label: t("jobs.sooner"),
          note,
          disabled: whyChange || (it.priority >= 9 && note),
          onSelect: () => change.run({ priority: it.priority + 1 }),
        },
        {
          key: "later",
          label: t("jobs.later"),
          note,
          disabled: whyChange || (it.priority <= 0 && note),
          onSelect: () => change.run({ priority: it.priority - 1 }),
        },
      ];
  const entries: (MenuEntry | "line")[] = [
    ...(here
      ? []
      : [
          {
            key: "details",
            label: t("jobs.details"),
            onSelect: () => void navigate(pageOf(it)),
          },
        ]),
    ...(isPictures(it)
      ? [
          {
            key: "like",
            label: t("jobs.moreLike"),
            onSelect: () => void navigate({ to: "/jobs/new", search: { like: it.id } }),
          },
        ]
      : []),
    {
      key: "again",
      label: t("jobs.again"),
      disabled: role || (!order && t("jobs.unknownAgain")),
      onSelect: () => order && submit.run(order),
    },
    {
      key: "copy",
      label: t("jobs.copyId"),
      onSelect: () =>
        void navigator.clipboard
          .writeText(it.id)
          .then(() => notify({ title: t("jobs.copiedId"), detail: it.id })),
    },
    ...waiting,
    ...(hasEnded(it)
      ? []
      : [
          "line" as const,
          {
            key: "cancel",
            label: t("jobs.cancel"),
            danger: true,
            disabled: whyNotCancel(me, it, t),
            onSelect: () => cancel.run(),
          },
        ]),
  ];
  return <ActionMenu label={t("jobs.actionsFor", { name })} entries={entries} />;
}
