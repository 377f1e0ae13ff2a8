import { expect, test } from "vitest";
import type { Alternative, ReasonCode } from "@/api/generated/types";
import { adviceFor } from "./advice";

const services = [
  { service: "webui", version: "1.5", recommended: false, deprecated: true },
  { service: "webui", version: "1.10", recommended: true, deprecated: false },
  { service: "comfyui", version: "0.4", recommended: true, deprecated: false },
];
const kinds = (reason: ReasonCode | null, more: { version?: string; alternatives?: Alternative[] } = {}) =>
  adviceFor({ reason, service: "webui", version: "1.5", alternatives: null, ...more }, services).map(
    (one) => one.kind,
  );

test("a lost image leads to the recommended version first", () => {
  expect(kinds("image_pull_failed")).toEqual(["version", "again", "settings", "ask"]);
  expect(kinds("image_pull_failed", { version: "1.10" })).toEqual(["again", "settings", "ask"]);
});

test("no room leads to waiting and to what has room", () => {
  const alternatives = [{}, {}] as Alternative[];
  expect(kinds("stock_exhausted", { alternatives })).toEqual(["wait", "instead", "instead", "ask"]);
});

test("a lost machine leads to another start, a spent budget does not", () => {
  expect(kinds("node_lost")).toEqual(["again", "ask"]);
  expect(kinds("budget_exhausted")).toEqual(["ask"]);
  expect(kinds("probe_failed")).toEqual(["version", "again", "log", "ask"]);
  expect(kinds(null)).toEqual([]);
});
