import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Instance, Storage } from "@/api/generated/types";
import { useMe } from "@/api/session";
import { standingOf } from "@/domain/instances/standing";
import { RunningTime } from "@/domain/instances/ticking";
import { useText } from "@/i18n";
import { shortId } from "@/lib/ids";
import { Button } from "@/ui/button";
import { ErrorLine } from "@/ui/error";
import { Ring } from "@/ui/state";
import { type Mount, mountsOf } from "./mounts";
import { useTakeOff, whyNotTakenOff } from "./take-off";

export function MountLink({ mount: { attachment, instance } }: { mount: Mount }) {
  return (
    <Link
      to="/instances/$id"
      params={{ id: attachment.instance_id }}
      className="truncate font-medium hover:text-ultra hover:underline"
    >
      {instance?.name ?? shortId(attachment.instance_id)}
    </Link>
  );
}

/** Every instance that has it, with what it does with it, and the way to take it off. */
export function MountList({
  it,
  instances,
  more,
}: {
  it: Storage;
  instances: readonly Instance[];
  more?: (mount: Mount) => ReactNode;
}) {
  const { t } = useText();
  const me = useMe();
  const takeOff = useTakeOff(it);
  return (
    <>
      <ul className="divide-y divide-line rounded-lg border border-line bg-sheet">
        {mountsOf(it, instances).map((mount) => {
          const { attachment, instance, path } = mount;
          return (
            <li
              key={attachment.instance_id}
              className="flex min-h-14 flex-wrap items-center justify-between gap-x-4 gap-y-2 px-4 py-2"
            >
              <span className="min-w-0 flex-1 basis-48">
                <span className="flex items-center gap-2 text-sm">
                  {instance && <Ring mark={standingOf(instance).mark} />}
                  <MountLink mount={mount} />
                  {instance && (
                    <span className="num shrink-0 text-ink-3 text-xs">
                      {instance.state === "running" && instance.started_at ? (
                        <RunningTime it={instance} />
                      ) : (
                        t(standingOf(instance).word)
                      )}
                    </span>
                  )}
                </span>
                <span className="block text-ink-3 text-xs">
                  {path && <span className="font-mono">{path}</span>}
                  {path && " · "}
                  {t(attachment.mode === "read_only" ? "storages.readOnly" : "storages.readWrite")}
                  {more?.(mount)}
                </span>
              </span>
              {instance && (
                <Button
                  small
                  disabled={whyNotTakenOff(me, instance, t)}
                  busy={takeOff.variables?.id === instance.id}
                  aria-label={t("storages.takeOffOf", { name: instance.name })}
                  onClick={() => takeOff.run(instance)}
                >
                  {t("storages.takeOff")}
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      {takeOff.error != null && <ErrorLine error={takeOff.error} className="mt-3" />}
    </>
  );
}
