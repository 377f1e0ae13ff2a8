import { expect, test } from "vitest";
import { compareTimes, formatAbout, formatDuration, formatRelative } from "./time";

test("durations count up to the second", () => {
  expect(formatDuration(9.9)).toBe("9s");
  expect(formatDuration(42 * 60 + 6)).toBe("42m 06s");
  expect(formatDuration(4 * 3600 + 3 * 60 + 12)).toBe("4h 03m 12s");
  expect(formatDuration(100 * 3600)).toBe("100h 00m 00s");
  expect(formatDuration(-5)).toBe("0s");
});

test("guesses are told roughly", () => {
  expect([0.2, 8, 42, 95, 3540, 3900, 7200].map(formatAbout)).toEqual([
    "1s",
    "8s",
    "40s",
    "2m",
    "59m",
    "1h 5m",
    "2h",
  ]);
});

test("moments are told from now", () => {
  const now = Date.parse("2026-11-26T12:00:00Z");
  expect(formatRelative("2026-11-26T11:59:30Z", now, "en")).toBe("now");
  expect(formatRelative("2026-11-26T11:55:00Z", now, "en")).toBe("5 minutes ago");
  expect(formatRelative("2026-11-25T12:00:00Z", now, "en")).toBe("yesterday");
  expect(formatRelative("2026-11-29T12:00:00Z", now, "en")).toBe("in 3 days");
  expect(formatRelative("2026-11-26T09:00:00Z", now, "zh-CN")).toBe("3小时前");
});

test("which moment is earlier, to the microsecond and however many decimals are written", () => {
  expect(compareTimes("2026-11-27T12:00:00Z", "2026-11-27T12:00:00.000001Z")).toBeLessThan(0);
  expect(compareTimes("2026-11-27T12:00:00.1Z", "2026-11-27T12:00:00.100000Z")).toBe(0);
  expect(compareTimes("2026-11-27T12:00:01Z", "2026-11-27T12:00:00.999999Z")).toBeGreaterThan(0);
});
