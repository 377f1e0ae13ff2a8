import { expect, test } from "vitest";
import { append, empty, levelOf, MOST, pieces, search, stampOf } from "./buffer";

const line = (text: string) => ({ time: "2026-11-26T10:00:00.123456789Z", text, continues: false });

test("lines are numbered through, and a gap marks the first that came after it", () => {
  const first = append(empty, [line("a"), line("b")]);
  const log = append(first, [line("c"), line("d")], true);
  expect(log.lines.map((it) => [it.n, it.text, it.gap])).toEqual([
    [0, "a", false],
    [1, "b", false],
    [2, "c", true],
    [3, "d", false],
  ]);
  expect(append(log, [])).toBe(log);
});

test("the oldest lines leave, and it is known", () => {
  const many = Array.from({ length: MOST }, (_, i) => line(String(i)));
  const full = append(empty, many);
  expect(full.dropped).toBe(false);
  const more = append(full, [line("x"), line("y")]);
  expect(more.lines).toHaveLength(MOST);
  expect(more.lines[0]?.text).toBe("2");
  expect(more.lines.at(-1)?.n).toBe(MOST + 1);
  expect(more.dropped).toBe(true);
});

test("a search finds lines in any case, and marks each place in a line", () => {
  const lines = [line("Error: out of memory"), line("ok"), line("an error, one more ERROR")];
  expect(search(lines, "error")).toEqual([0, 2]);
  expect(search(lines, "")).toEqual([]);
  expect(pieces("an error, one more ERROR", "error").map((it) => [it.text, it.match])).toEqual([
    ["an ", false],
    ["error", true],
    [", one more ", false],
    ["ERROR", true],
  ]);
  expect(pieces("plain", "")).toEqual([{ text: "plain", match: false, at: 0 }]);
});

test("lines that begin like errors and warnings are known", () => {
  expect(levelOf("RuntimeError: CUDA out of memory")).toBe("error");
  expect(levelOf("error: manifest unknown")).toBe("error");
  expect(levelOf("Traceback (most recent call last):")).toBe("error");
  expect(levelOf("WARNING: prompt has 91 tokens")).toBe("warning");
  expect(levelOf("errors are counted: 0")).toBeNull();
});

test("times are written to the millisecond", () => {
  expect(stampOf("2026-11-26T10:00:00.123456789Z", "utc")).toBe("10:00:00.123");
  expect(stampOf("2026-11-26T10:00:00Z", "local")).toMatch(/^\d\d:00:00\.000$/);
});
