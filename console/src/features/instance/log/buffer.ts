import type { LogLine } from "@/api/generated/types";

export interface Line extends LogLine {
  /** Grows with each line; keys rows. */
  n: number;
  /** Lines may be missing before this one. */
  gap: boolean;
}

/** So many lines stay in the page: the oldest leave it, and can be downloaded. */
export const MOST = 20_000;

export interface Log {
  lines: readonly Line[];
  next: number;
  /** Whether older lines have left the page. */
  dropped: boolean;
}

export const empty: Log = { lines: [], next: 0, dropped: false };

/** Lines that came together, at the end of what is there. A gap marks the first of them. */
export function append(log: Log, news: readonly LogLine[], gap = false): Log {
  if (news.length === 0) return log;
  const lines = news.map((line, i) => ({ ...line, n: log.next + i, gap: gap && i === 0 }));
  const all = [...log.lines, ...lines];
  const over = all.length - MOST;
  return {
    lines: over > 0 ? all.slice(over) : all,
    next: log.next + news.length,
    dropped: log.dropped || over > 0,
  };
}

/** Where the text stands, by the places of lines in the list. */
export function search(lines: readonly LogLine[], text: string): number[] {
  const wanted = text.toLowerCase();
  if (!wanted) return [];
  return lines.flatMap((line, i) => (line.text.toLowerCase().includes(wanted) ? [i] : []));
}

/** A line in pieces, those that match marked. */
export function pieces(text: string, wanted: string): { text: string; match: boolean; at: number }[] {
  if (!wanted) return [{ text, match: false, at: 0 }];
  const found: { text: string; match: boolean; at: number }[] = [];
  const lower = text.toLowerCase();
  const looked = wanted.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(looked); at >= 0; at = lower.indexOf(looked, from)) {
    if (at > from) found.push({ text: text.slice(from, at), match: false, at: from });
    found.push({ text: text.slice(at, at + wanted.length), match: true, at });
    from = at + wanted.length;
  }
  if (from < text.length) found.push({ text: text.slice(from), match: false, at: from });
  return found;
}

export type Level = "error" | "warning" | null;

/** What a line is about, by the words with which programs begin such lines. */
export function levelOf(text: string): Level {
  if (/\b(\w*error|fatal|traceback|\w*exception|panic)\b/i.test(text)) return "error";
  return /\b(warn|warning)\b/i.test(text) ? "warning" : null;
}

export const stamps = ["local", "utc", "off"] as const;
export type Stamp = (typeof stamps)[number];

/** "14:31:06.123", in the reader's zone or in UTC. */
export function stampOf(time: string, stamp: Stamp): string {
  const date = new Date(time);
  if (stamp === "utc") return date.toISOString().slice(11, 23);
  const two = (value: number) => String(value).padStart(2, "0");
  const clock = [date.getHours(), date.getMinutes(), date.getSeconds()].map(two).join(":");
  return `${clock}.${String(date.getMilliseconds()).padStart(3, "0")}`;
}
