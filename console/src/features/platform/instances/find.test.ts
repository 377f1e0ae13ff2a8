import { expect, test } from "vitest";
import { matches } from "./find";

const it = { id: "inst_01ab", name: "Lookdev-3", node: "de-2-gpu-07", datacenter: "de-2" };

test("a thing is found by id, name, node and datacenter, in any case", () => {
  for (const text of ["01AB", "lookdev", " gpu-07 ", "de-2"]) expect(matches(it, text)).toBe(true);
  expect(matches(it, "uk-1")).toBe(false);
  expect(matches({ ...it, node: null, datacenter: null }, "gpu-07")).toBe(false);
});
