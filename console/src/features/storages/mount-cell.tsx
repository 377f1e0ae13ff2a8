import { Link } from "@tanstack/react-router";
import type { Instance, Storage } from "@/api/generated/types";
import { standingOf } from "@/domain/instances/standing";
import { RunningTime } from "@/domain/instances/ticking";
import { MountLink } from "@/domain/storages/mount-list";
import { mountsOf } from "@/domain/storages/mounts";
import { useText } from "@/i18n";
import { Ring } from "@/ui/state";

/** The instance that has it, where it is mounted and for how long it runs; of several the first. */
export function MountCell({ it, instances }: { it: Storage; instances: readonly Instance[] }) {
  const { t } = useText();
  const [first, ...others] = mountsOf(it, instances);
  if (it.kind === "bucket") return <span className="text-ink-3 text-sm">{t("storages.bucketUse")}</span>;
  if (!first) return <span className="text-ink-3 text-sm">{t("storages.notMounted")}</span>;
  const { instance, path } = first;
  return (
    <span className="block min-w-0">
      <span className="flex min-w-0 items-center gap-2 text-sm">
        {instance && <Ring mark={standingOf(instance).mark} />}
        <MountLink mount={first} />
        {others.length > 0 && (
          <Link
            to="/storages/$id"
            params={{ id: it.id }}
            className="shrink-0 text-ink-3 text-xs hover:text-ink hover:underline"
          >
            {t("storages.more", { count: others.length })}
          </Link>
        )}
      </span>
      <span className="num block truncate text-ink-3 text-xs">
        {path && <span className="font-mono">{path}</span>}
        {instance?.state === "running" && instance.started_at && (
          <>
            {" · "}
            <RunningTime it={instance} />
          </>
        )}
        {instance && instance.state !== "running" && ` · ${t(standingOf(instance).word)}`}
      </span>
    </span>
  );
}
