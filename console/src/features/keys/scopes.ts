import type { Role, Scope } from "@/api/generated/types";
import type { Text } from "@/i18n";

export const things = [
  "instances",
  "storages",
  "jobs",
  "catalogue",
  "usage",
  "members",
  "audit",
  "account",
  "api-keys",
  "platform",
] as const;
export type Thing = (typeof things)[number];
export type Level = "none" | "read" | "write";
export type Rights = Record<Thing, Level>;

/** What there is to change; the others can only be seen. */
const readOnly: readonly Thing[] = ["catalogue", "usage", "audit"];

export const levelsOf = (thing: Thing): Level[] =>
  readOnly.includes(thing) ? ["none", "read"] : ["none", "read", "write"];

/** Things that the person could do something with. */
export const thingsFor = (role: Role | null, isAdmin: boolean) =>
  things.filter((thing) => (thing === "platform" ? isAdmin : thing !== "audit" || role === "owner"));

export const noRights = Object.fromEntries(things.map((thing) => [thing, "none"])) as Rights;

export const scopesOf = (rights: Rights): Scope[] =>
  things.flatMap((thing) => (rights[thing] === "none" ? [] : [`${thing}:${rights[thing]}` as Scope]));

export const presets: Record<"read" | "work", Scope[]> = {
  read: ["instances:read", "storages:read", "jobs:read", "catalogue:read", "usage:read"],
  work: ["instances:write", "storages:write", "jobs:write", "catalogue:read", "usage:read"],
};

/** "Change storages · see instances, usage". */
export function describeScopes(scopes: readonly Scope[], t: Text, language: string): string {
  const separator = language === "zh-CN" ? "、" : ", ";
  const named = (level: Level) =>
    things
      .filter((thing) => scopes.includes(`${thing}:${level}` as Scope))
      .map((thing) => t(`keys.things.${thing}`).toLocaleLowerCase(language))
      .join(separator);
  const [read, write] = [named("read"), named("write")];
  const text = [write && t("keys.canWrite", { things: write }), read && t("keys.canRead", { things: read })]
    .filter(Boolean)
    .join(" · ");
  return text.charAt(0).toLocaleUpperCase(language) + text.slice(1);
}
