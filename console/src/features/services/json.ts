import { z } from "zod/mini";
import type { ServiceTemplate } from "@/api/generated/types";
import type { Text } from "@/i18n";
import type { Fault } from "./check";

const text = z.optional(z.nullable(z.string()));
const whole = z.optional(z.nullable(z.int()));
const flag = z.optional(z.boolean());

/** Members and their types; unknown ones are refused, as by the service. */
const shape = z.strictObject({
  image: z.string(),
  ports: z.array(
    z.strictObject({
      port: z.int(),
      protocol: z.optional(z.enum(["TCP", "UDP", "SCTP"])),
      title: text,
      is_public: flag,
      is_probe: flag,
      base_url: z.optional(z.string()),
    }),
  ),
  env: z.optional(z.array(z.strictObject({ name: z.string(), value: z.optional(z.string()) }))),
  command: z.optional(z.array(z.string())),
  args: z.optional(z.array(z.string())),
  working_dir: text,
  storage_mount_path: text,
  root_inside: flag,
  shm_size_mib: whole,
  runtime_class_name: text,
  termination_grace_period_seconds: z.optional(z.int()),
  start_timeout_seconds: z.optional(z.int()),
});

export type Parsed = { template: ServiceTemplate; faults: null } | { template: null; faults: Fault[] };

/** Reads a template from text, or says what keeps it from being one. */
export function parseTemplate(source: string, t: Text): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(source);
  } catch (error) {
    const detail = t("catalogue.noJson", { why: error instanceof Error ? error.message : "" });
    return { template: null, faults: [{ pointer: "/template", detail }] };
  }
  const { data, error } = shape.safeParse(value);
  if (data) return { template: data, faults: null };
  const faults = error.issues.flatMap((issue): Fault[] => {
    const at = `/template${issue.path.map((part) => `/${String(part)}`).join("")}`;
    if (issue.code === "unrecognized_keys")
      return issue.keys.map((key) => ({ pointer: `${at}/${key}`, detail: t("catalogue.unknownMember") }));
    const expected = issue.code === "invalid_type" ? issue.expected : null;
    return [
      {
        pointer: at,
        detail: expected ? t("catalogue.mustBe", { type: expected }) : t("catalogue.valueWrong"),
      },
    ];
  });
  return { template: null, faults };
}

const TOKEN = /"(?:[^"\\]|\\.)*"|[^\s,:[\]{}"]+/y;
const SPACE = /\s*/y;

/** The line, from 1, on which the value at a JSON pointer begins; that of what holds it if it is not there. */
export function lineOf(source: string, pointer: string): number {
  const wanted = pointer.split("/").slice(1);
  let at = 0;
  let found = { depth: -1, at: 0 };
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const text = pattern.exec(source)?.[0] ?? "";
    at += text.length;
    return text;
  };
  const skip = (character: string) => {
    take(SPACE);
    if (source[at] !== character) return false;
    at++;
    return true;
  };
  const value = (path: readonly string[]) => {
    take(SPACE);
    if (path.length > found.depth && path.every((name, i) => name === wanted[i]))
      found = { depth: path.length, at };
    if (skip("{")) members(path, "}");
    else if (skip("[")) members(path, "]");
    else take(TOKEN);
  };
  const members = (path: readonly string[], end: string) => {
    for (let i = 0; at < source.length && !skip(end); i++) {
      let name = String(i);
      if (end === "}") {
        take(SPACE);
        name = take(TOKEN).replace(/^"|"$/g, "");
        skip(":");
      }
      const before = at;
      value([...path, name]);
      // text that is no JSON must not hold it up
      if (!skip(",") && at === before) at++;
    }
  };
  value([]);
  return source.slice(0, found.at).split("\n").length;
}
