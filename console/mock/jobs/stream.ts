import { pngOf } from "./../png.ts";
import { type Caller, type MockReply, type MockRequest, Refusal } from "../types.ts";
import type { Stream, World } from "../world.ts";
import { sizeOf, textOf } from "./world.ts";

/** The stream of events of jobs: first the position, or what came after the given one. */
export function followJobs({ jobs }: World, request: MockRequest, caller: Caller): MockReply {
  const tenant = caller.session.tenant_id;
  const newest = jobs.events.length;
  const wanted = request.headers.get("last-event-id") ?? request.query.get("after") ?? "0";
  const after = wanted === "latest" ? newest : Number(wanted);
  if (after > newest) throw new Refusal("events-deleted", { members: { oldest: 0, newest } });
  return {
    status: 200,
    headers: { "content-type": "text/event-stream", "cache-control": "no-store" },
    stream: ({ send, end }, signal) => {
      send(`retry: 1000\nid: ${after}\n\n`);
      for (const [i, event] of jobs.events.entries())
        if (i >= after && event.tenant_id === tenant)
          send(`id: ${i + 1}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      const stream: Stream = {
        user_id: caller.user.id,
        tenant_id: tenant,
        send,
        end: () => {
          jobs.streams.delete(stream);
          end();
        },
      };
      jobs.streams.add(stream);
      const beat = setInterval(() => send(": still here\n\n"), 15_000);
      signal.addEventListener("abort", () => {
        clearInterval(beat);
        jobs.streams.delete(stream);
      });
    },
  };
}

const painted = new Map<string, Promise<Uint8Array>>();

/** What a job has made. The platform redirects to the object store; here it is served from where the console is. */
export async function contentOf(
  { jobs }: World,
  caller: Caller,
  [job, artifact]: [string, string],
): Promise<MockReply> {
  const kept = jobs.kept.find(({ it, tenant_id }) => it.id === job && tenant_id === caller.session.tenant_id);
  const place = kept?.artifacts.findIndex((it) => it.id === artifact) ?? -1;
  const file = kept?.artifacts[place];
  if (!kept || !file) throw new Refusal("not-found");
  const headers = { "content-type": file.content_type, "cache-control": "no-store" };
  if (file.content_type !== "image/png")
    return { status: 200, headers, bytes: new TextEncoder().encode("a file of the stand-in") };
  const { width, height, seed } = sizeOf(kept.parameters);
  const own = (seed < 0 ? Number.parseInt(file.id.slice(-6), 16) : seed) + place;
  const text = textOf(kept.parameters, own);
  const key = `${artifact} ${text}`;
  const made =
    painted.get(key) ?? pngOf({ prompt: String(kept.parameters.prompt), seed: own, width, height, text });
  painted.set(key, made);
  return { status: 200, headers, bytes: await made };
}
