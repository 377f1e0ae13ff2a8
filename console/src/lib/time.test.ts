import { expect, test } from "vitest";
import { compareTimes, formatAbout, formatDuration, formatMinutes, formatRelative } from "./time";

test("durations count up to the second", () => {
  expect(formatDuration(9.9, "en")).toBe("9s");
  expect(formatDuration(42 * 60 + 6, "en")).toBe("42m 06s");
  expect(formatDuration(4 * 3600 + 3 * 60 + 12, "en")).toBe("4h 03m 12s");
  expect(formatDuration(100 * 3600, "en")).toBe("100h 00m 00s");
  expect(formatDuration(-5, "en")).toBe("0s");
  expect(formatDuration(4 * 3600 + 3 * 60 + 12, "zh-CN")).toBe("4小时03分12秒");
});

test("or to the minute", () => {
  expect(formatMinutes(4 * 3600 + 3 * 60 + 59, "en")).toBe("4h 03m");
  expect(formatMinutes(42 * 60, "zh-CN")).toBe("42分钟");
});

test("guesses are told roughly", () => {
  expect([0.2, 8, 42, 95, 3540, 3900, 7200].map((seconds) => formatAbout(seconds, "en"))).toEqual([
    "1s",
    "8s",
    "40s",
    "2m",
    "59m",
    "1h 5m",
    "2h",
  ]);
  expect([42, 3540, 3900, 7200].map((seconds) => formatAbout(seconds, "zh-CN"))).toEqual([
    "40秒",
    "59分钟",
    "1小时5分钟",
    "2小时",
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
