import { expect, test } from "vitest";
import type { PlatformInstance } from "@/api/generated/types";
import { inUseOf, isBelow, numberOf } from "./in-use";

const specs = [
  { id: "a", gpu_model: "A100", gpu_count: 2 },
  { id: "b", gpu_model: "L40S", gpu_count: 1 },
] as unknown as Parameters<typeof inUseOf>[1];

const instance = (spec: string, state: string, hold: unknown = null) =>
  ({
    gpu_spec: { id: spec },
    state,
    hold,
    price_per_hour: "1.10",
    currency: "USD",
  }) as unknown as PlatformInstance;

test("stopped instances count as instances, and those that hold a unit as GPUs too", () => {
  const use = inUseOf(
    {
      items: [instance("a", "running"), instance("b", "stopped"), instance("b", "stopped", {})],
      next_cursor: null,
    },
    specs,
  );
  expect(use.instances).toBe(3);
  expect(use.gpus).toBe(3);
  expect([...use.byModel]).toEqual([
    ["A100", 2],
    ["L40S", 1],
  ]);
  expect(use.rate.get("USD")).toBe(2_200_000n);
  expect(use.isWhole).toBe(true);
});

test("a specification that is not known makes the number of GPUs unknown, not smaller", () => {
  expect(inUseOf({ items: [instance("gone", "running")], next_cursor: "c" }, specs)).toMatchObject({
    gpus: null,
    isWhole: false,
  });
});

test("a limit below what is used is found", () => {
  expect(isBelow("3", 4)).toBe(true);
  expect(isBelow("4", 4)).toBe(false);
  expect(isBelow("", 4)).toBe(false);
  expect(isBelow("3", null)).toBe(false);
  expect(numberOf("1.5")).toBeUndefined();
  expect(numberOf(" 12 ")).toBe(12);
});
