import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { asCurl, call } from "@/api/client";
import {
  deleteInstance,
  releaseInstanceHold,
  restartInstance,
  startInstance,
  stopInstance,
} from "@/api/generated/operations";
import type { HoldRequest, Instance, InstanceId, Me } from "@/api/generated/types";
import { expectInstance } from "@/api/instances/cache";
import { isOpen } from "@/api/query";
import { whyNot } from "@/app/roles";
import { type Text, useText } from "@/i18n";
import { notify } from "@/ui/toast";
import { useDescribe } from "./describe";
import { standingOf } from "./standing";

/** `wait` is a start that waits for a place if there is none. */
export type InstanceAction = "start" | "wait" | "stop" | "restart" | "delete" | "release";

export interface ActExtras {
  /** For `stop`: keeps the unit. */
  hold?: HoldRequest;
}

const sends: Record<InstanceAction, (id: InstanceId, key: string, extras: ActExtras) => Promise<Instance>> = {
  start: (id, key) => call(startInstance, { path: { id } }, { key }),
  wait: (id, key) => call(startInstance, { path: { id }, query: { wait: true } }, { key }),
  stop: (id, key, { hold }) => call(stopInstance, { path: { id }, ...(hold && { body: { hold } }) }, { key }),
  restart: (id, key) => call(restartInstance, { path: { id } }, { key }),
  delete: (id, key) => call(deleteInstance, { path: { id } }, { key }),
  release: (id, key) => call(releaseInstanceHold, { path: { id } }, { key }),
};

const fresh = { reason: null, message: null, log_tail: null, alternatives: null, queue: null };
const expected: Record<InstanceAction, Partial<Instance>> = {
  start: { ...fresh, state: "pending", hold: null },
  wait: { ...fresh, state: "pending", hold: null },
  stop: { ...fresh, state: "stopping", started_at: null },
  restart: { ...fresh, state: "starting", reason: "restarting", started_at: null },
  delete: { ...fresh, state: "deleting", started_at: null, hold: null },
  release: { hold: null },
};

/** Idempotency keys of requests with an unknown outcome: a retry sends the same key. */
const open = new Map<string, string>();

/** Does it: shown at once, put back when it is refused, which it throws. */
export async function actOn(
  client: QueryClient,
  action: InstanceAction,
  id: InstanceId,
  extras: ActExtras = {},
): Promise<Instance> {
  const press = JSON.stringify([action, id, extras]);
  const key = open.get(press) ?? crypto.randomUUID();
  open.delete(press);
  const shown = expectInstance(client, id, expected[action]);
  try {
    const answer = await sends[action](id, key, extras);
    shown.settle(answer);
    return answer;
  } catch (error) {
    shown.undo();
    if (isOpen(error)) open.set(press, key);
    throw error;
  }
}

const refused: Record<InstanceAction, "notStart" | "notStop" | "notRestart" | "notDelete" | "notRelease"> = {
  start: "notStart",
  wait: "notStart",
  stop: "notStop",
  restart: "notRestart",
  delete: "notDelete",
  release: "notRelease",
};

/** The same, with a notice that says why it was refused. */
export function useInstanceActs() {
  const client = useQueryClient();
  const { t } = useText();
  const describe = useDescribe();
  return (action: InstanceAction, it: Pick<Instance, "id" | "name">, extras?: ActExtras) => {
    actOn(client, action, it.id, extras).catch((error: unknown) =>
      notify({
        failed: true,
        title: t(`instances.${refused[action]}`, { name: it.name }),
        detail: describe(error),
      }),
    );
  };
}

/** Why it cannot be done now, as a sentence; false if it can. */
export function whyNotNow(
  me: Me,
  it: Pick<Instance, "state" | "reason" | "hold" | "managed_by">,
  action: InstanceAction,
  t: Text,
): string | false {
  const role = whyNot(me, "instances.write", t);
  if (role) return role;
  if (it.managed_by) return t("instances.managed", { service: it.managed_by });
  const can = {
    start: it.state === "stopped",
    wait: it.state === "stopped",
    stop: it.state === "pending" || it.state === "starting" || it.state === "running",
    restart: it.state === "running",
    delete: it.state !== "deleting",
    release: it.hold !== null,
  }[action];
  return can ? false : t("instances.notWhile", { state: t(standingOf(it).word) });
}

/** The action as a command for a terminal. */
export function actAsCurl(action: InstanceAction, id: InstanceId): string {
  const request = { path: { id } };
  switch (action) {
    case "start":
      return asCurl(startInstance, request);
    case "wait":
      return asCurl(startInstance, { ...request, query: { wait: true } });
    case "stop":
      return asCurl(stopInstance, request);
    case "restart":
      return asCurl(restartInstance, request);
    case "delete":
      return asCurl(deleteInstance, request);
    case "release":
      return asCurl(releaseInstanceHold, request);
  }
}
