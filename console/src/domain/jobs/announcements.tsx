import { useEffect, useRef, useState } from "react";
import type { Job, JobId } from "@/api/generated/types";
import { askedFor } from "@/api/jobs/asked";
import { hasEnded } from "@/api/jobs/cache";
import { useMe } from "@/api/session";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { nameOf } from "./parameters";
import { standingOf } from "./standing";

/** Says to screen readers what has ended, and not each step of the way. */
export function JobAnnouncements({ items }: { items: readonly Job[] }) {
  const { t } = useText();
  const me = useMe();
  const last = useRef(new Map<JobId, string>());
  const [said, setSaid] = useState("");
  useEffect(() => {
    const before = last.current;
    const changed = items.filter((it) => {
      const state = before.get(it.id);
      return state !== undefined && state !== it.state && hasEnded(it);
    });
    last.current = new Map(items.map((it) => [it.id, it.state]));
    if (changed.length === 0) return;
    setSaid(
      changed
        .slice(0, 3)
        .map((it) =>
          t("jobs.changed", {
            name: nameOf(askedFor(me.user.id, it.id)) ?? shortId(it.id),
            state: t(standingOf(it).word),
          }),
        )
        .join(", "),
    );
  }, [items, t, me]);
  return (
    <p role="status" className="sr-only">
      {said}
    </p>
  );
}
