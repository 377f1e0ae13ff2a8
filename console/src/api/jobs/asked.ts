import type { JobId, NewJob, UserId } from "@/api/generated/types";
import { readSetting, writeSetting } from "@/lib/setting";

/** So many of one's newest jobs are remembered. */
const MOST = 200;

/**
 * The API does not tell with which parameters a job was submitted. What this browser has submitted it keeps, for each
 * person by themselves.
 */
const nameOf = (user: UserId) => `asked-${user}`;

type Asked = [JobId, NewJob][];

let parsed: { text: string; asked: Asked } = { text: "", asked: [] };

function read(user: UserId): Asked {
  const text = readSetting(nameOf(user)) ?? "[]";
  if (text === parsed.text) return parsed.asked;
  let asked: Asked = [];
  try {
    const kept: unknown = JSON.parse(text);
    if (Array.isArray(kept)) asked = kept as Asked;
  } catch {
    // somebody else has written there: begin anew
  }
  parsed = { text, asked };
  return asked;
}

export function rememberAsked(user: UserId, id: JobId, body: NewJob) {
  // variables may be secrets
  const { env: _, ...parameters } = body.parameters;
  const others = read(user).filter(([known]) => known !== id);
  writeSetting(nameOf(user), JSON.stringify([[id, { ...body, parameters }], ...others].slice(0, MOST)));
}

export const askedFor = (user: UserId, id: JobId): NewJob | undefined =>
  read(user).find(([known]) => known === id)?.[1];
