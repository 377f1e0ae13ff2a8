import { useQueryClient } from "@tanstack/react-query";
import { call } from "@/api/client";
import { cancelJob, createJob, updateJob } from "@/api/generated/operations";
import type { Job, JobChange, Me, NewJob } from "@/api/generated/types";
import { rememberAsked } from "@/api/jobs/asked";
import { askedAt, expectJob, hasEnded, putJob } from "@/api/jobs/cache";
import { useAct } from "@/api/query";
import { useMe } from "@/api/session";
import { whyNot } from "@/app/roles";
import { type Text, useText } from "@/i18n";
import { describe } from "@/ui/error";
import { notify } from "@/ui/toast";
import { useAsked } from "./asked";
import { standingOf } from "./standing";

/** Its worker is told to stop; one that waits has ended at once. */
export function useCancel(it: Job) {
  const { t } = useText();
  const client = useQueryClient();
  const { name } = useAsked(it);
  return useAct((_: void, key) => call(cancelJob, { path: { id: it.id } }, { key }), {
    expect: () => expectJob(client, it.id, { state: it.state === "queued" ? "cancelled" : "cancelling" }),
    onDone: (answer) => putJob(client, answer, askedAt()),
    onFailed: (error) =>
      notify({ failed: true, title: t("jobs.notCancelled", { name }), detail: describe(error, t) }),
  });
}

/** Another level or place among one's own, while it waits. */
export function useChange(it: Job) {
  const { t } = useText();
  const client = useQueryClient();
  const { name } = useAsked(it);
  return useAct(
    (change: { level?: Job["level"]; priority?: number }, key) => {
      const body: JobChange = change;
      return call(updateJob, { path: { id: it.id }, headers: { "If-Match": "*" }, body }, { key });
    },
    {
      touches: [["job-explanation", it.id]],
      expect: (change) => expectJob(client, it.id, change),
      onDone: (answer) => putJob(client, answer, askedAt()),
      onFailed: (error) =>
        notify({ failed: true, title: t("jobs.notChanged", { name }), detail: describe(error, t) }),
    },
  );
}

/** Submits a job, and remembers what was asked. */
export function useSubmit(onDone: (made: Job) => void, onFailed?: (error: Error) => void) {
  const client = useQueryClient();
  const me = useMe();
  return useAct((body: NewJob, key) => call(createJob, { body }, { key }), {
    onDone: (made, body) => {
      rememberAsked(me.user.id, made.id, body);
      putJob(client, made, askedAt());
      onDone(made);
    },
    ...(onFailed && { onFailed }),
  });
}

/** Why it cannot be cancelled now, as a sentence; false if it can. */
export function whyNotCancel(me: Me, it: Job, t: Text): string | false {
  const role = whyNot(me, "jobs.write", t);
  if (role) return role;
  return hasEnded(it) || it.state === "cancelling"
    ? t("jobs.notWhile", { state: t(standingOf(it).word) })
    : false;
}

/** Why its level and priority cannot be changed. */
export function whyNotChange(me: Me, it: Job, t: Text): string | false {
  const role = whyNot(me, "jobs.write", t);
  if (role) return role;
  return it.state === "queued" ? false : t("jobs.notWhile", { state: t(standingOf(it).word) });
}
