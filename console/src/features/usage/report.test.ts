import { expect, test } from "vitest";
import type { JobUsageGroup, UsageGroup } from "@/api/generated/types";
import { barsOf } from "./chart-axis";
import { csvOf } from "./csv";
import { forecastOf, rounded, sorted, sumOf } from "./report";

const group = (name: string, amount: string, more: Partial<UsageGroup> = {}): UsageGroup => ({
  group: name,
  running_seconds: 3600,
  held_seconds: 0,
  amount,
  currency: "USD",
  open_runs: 0,
  ...more,
});
const at = (time: string) => Date.parse(`2026-11-${time}`);
const month = { from: at("01T00:00Z"), to: at("06T12:00Z"), end: Date.parse("2026-12-01T00:00Z") };

test("sums are exact, and of one currency each", () => {
  const groups = [group("a", "0.1"), group("b", "0.2"), group("a", "5", { currency: "EUR" })];
  expect([...sumOf(groups)]).toEqual([
    ["USD", 300_000n],
    ["EUR", 5_000_000n],
  ]);
});

test("what is shown adds up in each currency", () => {
  const groups = [group("a", "0.004"), group("b", "0.004"), group("c", "0.009", { currency: "EUR" })];
  expect(rounded(groups).map((it) => it.amount)).toEqual(["0.01", "0", "0.01"]);
});

test("a forecast is the average of the last whole days for the rest", () => {
  const days = ["01", "02", "03", "04", "05"].map((day) => group(`2026-11-${day}`, "10"));
  // today is not whole: it counts in what was spent only
  const forecast = forecastOf([...days, group("2026-11-06", "7")], month);
  expect(forecast).toMatchObject({ days: 5, perDay: 10_000_000n });
  expect(forecast?.amount).toBe(57_000_000n + 245_000_000n);
});

test("days without usage are days, too", () => {
  expect(forecastOf([group("2026-11-01", "10")], month)?.perDay).toBe(2_000_000n);
});

test("nothing is foretold from two days, of the past, or across currencies", () => {
  const days = [group("2026-11-01", "10")];
  expect(forecastOf(days, { ...month, to: at("03T23:00Z") })).toBeNull();
  expect(forecastOf(days, { ...month, end: month.to })).toBeNull();
  expect(forecastOf([...days, group("2026-11-01", "1", { currency: "EUR" })], month)).toBeNull();
  expect(forecastOf([], month)).toBeNull();
});

test("the dearest come first, once all are known", () => {
  const groups = [group("a", "0.2"), group("b", "9007199254740993.1"), group("c", "9007199254740993")];
  expect(sorted(groups, "spec", true).map((it) => it.group)).toEqual(["b", "c", "a"]);
  expect(sorted(groups, "spec", false)).toEqual(groups);
  expect(sorted(groups, "day", true).map((it) => it.group)).toEqual(["c", "b", "a"]);
});

test("the file has the amounts as they are, and their sum", () => {
  const groups = [group("inst_1", "0.1"), group("inst_2", "0.2", { held_seconds: 60 })];
  const names: Record<string, string> = { inst_1: '=cmd "a", b', inst_2: "heroine" };
  const figures = ["running_seconds", "held_seconds"] as const;
  expect(csvOf(groups, { by: "instance", figures, nameOf: (it) => names[it.group] ?? null })).toBe(
    [
      "instance,name,running_seconds,held_seconds,amount,currency",
      `inst_1,"'=cmd ""a"", b",3600,0,0.1,USD`,
      "inst_2,heroine,3600,60,0.2,USD",
      "total,,7200,60,0.3,USD",
      "",
    ].join("\r\n"),
  );
});

const jobs = (name: string, amount: string, currency: string | null): JobUsageGroup => ({
  group: name,
  seconds: 90,
  amount,
  currency,
  uncharged_seconds: 10,
  attempts: 2,
  open_attempts: 0,
});

test("jobs without a price cost nothing, and are in the file", () => {
  const groups = [jobs("charged", "0.25", "USD"), jobs("no_price", "0", null)];
  expect([...sumOf(groups)]).toEqual([["USD", 250_000n]]);
  expect(csvOf(groups, { by: "charge", figures: ["attempts", "seconds", "uncharged_seconds"] })).toBe(
    [
      "charge,attempts,seconds,uncharged_seconds,amount,currency",
      "charged,2,90,10,0.25,USD",
      "no_price,2,90,10,0,",
      "total,2,90,10,0.25,USD",
      "",
    ].join("\r\n"),
  );
});

test("a forecast and the bars are of instances and jobs together", () => {
  const days = ["01", "02", "03", "04", "05"].map((day) => group(`2026-11-${day}`, "10"));
  const ofJobs = [jobs("2026-11-05", "5", "USD"), jobs("2026-11-04", "0", null)];
  expect(forecastOf([...days, ...ofJobs], month)).toMatchObject({ currency: "USD", perDay: 11_000_000n });
  const { bars, highest, sums } = barsOf(["2026-11-04", "2026-11-05"], [days, ofJobs], "USD");
  expect(bars.map((bar) => bar.parts)).toEqual([
    [10_000_000n, 0n],
    [10_000_000n, 5_000_000n],
  ]);
  expect(highest).toMatchObject({ day: "2026-11-05", amount: 15_000_000n });
  expect(sums).toEqual([20_000_000n, 5_000_000n]);
});
