import { now } from "./times.ts";
import { type Context, Refusal, Reply } from "./types.ts";

interface Changing {
  updated_at: string;
}

const etagOf = ({ updated_at }: Changing) => `"${Date.parse(updated_at)}"`;

/** The thing with its ETag. */
export const withEtag = <Thing extends Changing>(thing: Thing, status = 200) =>
  new Reply(thing, status, { etag: etagOf(thing) });

/** Refuses a change by someone who has not seen the latest one. */
export function checkMatch({ request }: Context, thing: Changing) {
  const sent = request.headers.get("if-match");
  if (sent !== "*" && sent !== etagOf(thing)) throw new Refusal("changed-meanwhile");
}

/** Changes what was sent; what is absent stays. */
export function patch<Thing extends Changing>(thing: Thing, change: { [K in keyof Thing]?: unknown }) {
  const sent = Object.entries(change).filter(([, value]) => value !== undefined);
  // two changes within a millisecond have two ETags
  const last = Date.parse(thing.updated_at);
  const updated_at = new Date(Math.max(Date.parse(now()), last + 1)).toISOString();
  Object.assign(thing, Object.fromEntries(sent), { updated_at });
}

export function asAdmin({ caller }: Context) {
  if (!caller.user.admin) throw new Refusal("forbidden");
}
