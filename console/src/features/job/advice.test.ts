import { expect, test } from "vitest";
import { adviceFor } from "./advice";

const failed = (code: string, application = "stable-diffusion") =>
  adviceFor({ application, problem: { code, message: "" } });

test("what failed for other reasons than what was asked may be submitted again as it was", () => {
  expect(failed("engine-failed")).toEqual({ first: "again", again: true });
  expect(failed("storage-full")).toEqual({ first: "storage", again: true });
  expect(failed("something-new")).toEqual({ first: "again", again: true });
});

test("what would fail again is to be changed first", () => {
  expect(failed("out-of-memory")).toEqual({ first: "memory", again: false });
  expect(failed("out-of-memory", "command")).toEqual({ first: "change", again: false });
  expect(failed("max-cost-reached")).toEqual({ first: "limit", again: false });
});
