import { useEffect, useRef, useState } from "react";
import type { Instance, InstanceId } from "@/api/generated/types";
import { isMoving, standingOf } from "@/domain/instances/standing";
import { useText } from "@/i18n";

/** Says what has come to rest or runs now, and not each step of the way. */
export function Announcements({ items }: { items: readonly Instance[] }) {
  const { t } = useText();
  const last = useRef(new Map<InstanceId, string>());
  const [said, setSaid] = useState("");
  useEffect(() => {
    const before = last.current;
    const changed = items.filter((it) => {
      const state = before.get(it.id);
      return state !== undefined && state !== it.state && !isMoving(it);
    });
    last.current = new Map(items.map((it) => [it.id, it.state]));
    if (changed.length === 0) return;
    setSaid(
      changed
        .slice(0, 3)
        .map((it) => t("instances.changed", { name: it.name, state: t(standingOf(it).word) }))
        .join(", "),
    );
  }, [items, t]);
  return (
    <p role="status" className="sr-only">
      {said}
    </p>
  );
}
