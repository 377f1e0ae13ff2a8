import type { Artifact, ArtifactId, JobEvent, JobEventType } from "../../src/api/generated/types";
import { makeId } from "../ids.ts";
import { now } from "../times.ts";
import { type KeptJob, sizeOf } from "./data.ts";

let made = 0;

/** What happened to a job, with how it is then. */
export function eventOf(
  { it, tenant_id, events }: KeptJob,
  type: JobEventType,
  leave_by: string | null = null,
): JobEvent {
  const sequence = events.length + 1;
  return {
    id: `${it.id}-${sequence}`,
    sequence,
    time: now(),
    type,
    tenant_id,
    job_id: it.id,
    req_no: it.req_no,
    kind: it.kind,
    application: it.application,
    method: it.method,
    state: it.state,
    attempts: it.attempts,
    level: it.level,
    priority: it.priority,
    reason: it.reason,
    problem: it.problem,
    not_before: it.not_before,
    leave_by,
  };
}

/** The pictures of a generation. */
export const filesOf = ({ parameters }: KeptJob, created_at: string): Artifact[] =>
  Array.from({ length: sizeOf(parameters).images }, (_, i) => ({
    id: makeId<ArtifactId>("art", 20_000 + ++made),
    name: `${i}.png`,
    content_type: "image/png",
    sha256: made.toString(16).padStart(64, "a"),
    bytes: 1_204_000 + made * 331,
    created_at,
  }));
