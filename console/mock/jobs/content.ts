import type { Backend } from "../backend.ts";
import type { Caller, MockReply } from "../http.ts";
import { pngOf } from "../png.ts";
import { Refusal } from "../types.ts";
import { sizeOf, textOf } from "./data.ts";
import { resultText } from "./training.ts";

const painted = new Map<string, Promise<Uint8Array>>();

/** What a job has made. The platform redirects to the object store; here it is served from where the console is. */
export async function contentOf(
  { jobs }: Backend,
  caller: Caller,
  [job, artifact]: [string, string],
): Promise<MockReply> {
  const kept = jobs.kept.find(({ it, tenant_id }) => it.id === job && tenant_id === caller.session.tenant_id);
  const place = kept?.artifacts.findIndex((it) => it.id === artifact) ?? -1;
  const file = kept?.artifacts[place];
  if (!kept || !file) throw new Refusal("not-found");
  if (kept.lesson) {
    const { type, text } = resultText(kept.lesson, file);
    return { status: 200, headers: { "content-type": type }, bytes: new TextEncoder().encode(text) };
  }
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
