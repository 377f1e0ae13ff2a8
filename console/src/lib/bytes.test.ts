import { expect, test } from "vitest";
import { formatBytes } from "./bytes";

test("sizes have at most one decimal place, and that below ten", () => {
  expect(formatBytes(812, "en")).toBe("812 byte");
  expect(formatBytes(1_482_113, "en")).toBe("1.5 MB");
  expect(formatBytes(23_288_704, "en")).toBe("23 MB");
  expect(formatBytes(1_000_000_000, "en")).toBe("1 GB");
});
