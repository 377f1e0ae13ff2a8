import { expect, test } from "vitest";
import { plainName, refusalOf } from "./rules";

test("only pictures of some size are sent", () => {
  expect(refusalOf({ type: "image/png", size: 1 })).toBeNull();
  expect(refusalOf({ type: "image/jpeg", size: 32 * 1024 ** 2 })).toBeNull();
  expect(refusalOf({ type: "image/webp", size: 1 })).toBe("type");
  expect(refusalOf({ type: "image/png", size: 0 })).toBe("empty");
  expect(refusalOf({ type: "image/png", size: 32 * 1024 ** 2 + 1 })).toBe("large");
});

test("a name is cut to a hundred bytes, and keeps its ending", () => {
  expect(plainName("heroine.png")).toBe("heroine.png");
  expect(plainName("a/b\u0007.png")).toBe("a-b-.png");
  const long = plainName(`${"图".repeat(60)}.jpeg`);
  expect(new TextEncoder().encode(long).length).toBeLessThanOrEqual(100);
  expect(long).toMatch(/^图+\.jpeg$/);
});
