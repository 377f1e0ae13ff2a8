// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { safePath } from "./session";

test("only paths of ours are returned to", () => {
  expect(safePath("/instances?state=running#top")).toBe("/instances?state=running#top");
  for (const elsewhere of [
    undefined,
    "",
    "instances",
    "//evil.example",
    "/\\evil.example",
    "https://evil.example/",
    "javascript:alert(1)",
    "/\t/evil.example",
  ])
    expect(safePath(elsewhere)).toBe("/");
});
