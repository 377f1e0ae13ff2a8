import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import type { Event, InstanceId } from "@/api/generated/types";
import { history } from "@/api/instances/details";
import { onEvents } from "@/api/live";

const charged = new Set<Event["type"]>([
  "instance.started",
  "instance.run_ended",
  "instance.hold_started",
  "instance.hold_ended",
]);

/** Adds what is heard of the instance to its history, and reads its runs again when one begins or ends. */
export function useFollow(id: InstanceId) {
  const client = useQueryClient();
  useEffect(
    () =>
      onEvents(["instance"], (event) => {
        if (event.instance_id !== id) return;
        client.setQueryData(history(id).queryKey, (old) =>
          old && !old.some((known) => known.sequence >= event.sequence) ? [event, ...old] : old,
        );
        if (!charged.has(event.type)) return;
        for (const name of ["usage", "logs", "metrics"])
          void client.invalidateQueries({ queryKey: [name, id] });
      }),
    [client, id],
  );
}
