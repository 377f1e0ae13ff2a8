import { expect, test } from "vitest";
import type { BaseModel } from "@/api/generated/types";
import { basesOf, matches } from "./search";

test("words are found in the name and in the base model", () => {
  const it = { name: "Heroine v3", base_model: "sdxl-1.0" };
  expect(matches(it, "sdxl hero")).toBe(true);
  expect(matches(it, "")).toBe(true);
  expect(matches(it, "hero sd-1.5")).toBe(false);
});

test("a base model is one row, with what it is for and where it is", () => {
  const item = (kind: BaseModel["kind"], pool: string, workers: number) =>
    ({ name: "sdxl-1.0", kind, pool, pool_id: pool, workers }) as BaseModel;
  const bases = basesOf([
    item("base_model", "pictures", 4),
    item("checkpoint", "pictures", 5),
    item("checkpoint", "reserve", 0),
    { ...item("checkpoint", "pictures", 2), name: "dreamshaper-8" },
  ]);
  expect(bases).toEqual([
    {
      name: "sdxl-1.0",
      draws: true,
      trained: true,
      pools: [
        { name: "pictures", workers: 5 },
        { name: "reserve", workers: 0 },
      ],
    },
    { name: "dreamshaper-8", draws: true, trained: false, pools: [{ name: "pictures", workers: 2 }] },
  ]);
});
