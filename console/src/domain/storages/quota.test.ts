import { expect, test } from "vitest";
import { ApiError } from "@/api/problem";
import type { Text } from "@/i18n";
import { overCount, overGib, roomOf, sizeRefusal } from "./quota";

const t = ((key: string, values: object) => `${key} ${JSON.stringify(values)}`) as Text;
const quota = (gib: number, storages = 3) => ({ limits: { gib: 100, storages: 5 }, used: { gib, storages } });

test("what is left is never less than nothing", () => {
  expect(roomOf(quota(70))).toEqual({ gib: 30, storages: 2 });
  expect(roomOf(quota(130, 9))).toEqual({ gib: 0, storages: 0 });
});

test("a size that does not fit is told with what would", () => {
  expect(overGib(quota(70), 30, t)).toBeUndefined();
  expect(overGib(quota(70), 31, t)).toBe('storages.quotaRoom {"size":30}');
  expect(overGib(quota(100), 1, t)).toBe('storages.quotaNoRoom {"limit":100}');
  expect(overCount(quota(0), t)).toBeUndefined();
  expect(overCount(quota(0, 5), t)).toBe('storages.quotaFull {"limit":5}');
});

test("only the refusal of a size belongs to its field", () => {
  const refused = (quota: string) =>
    new ApiError(
      {
        type: "https://atelier.dev/problems/quota-exceeded",
        title: "",
        status: 409,
        detail: "",
        quota,
        limit: 100,
        used: 90,
      } as never,
      null,
      null,
    );
  expect(sizeRefusal(refused("storage_gib"), t)).toBe('storages.quotaRoom {"size":10}');
  expect(sizeRefusal(refused("storages"), t)).toBeUndefined();
  expect(sizeRefusal(new Error(), t)).toBeUndefined();
});
