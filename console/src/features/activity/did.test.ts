import { expect, test } from "vitest";
import { didOf, targetOf } from "./did";

test("an operation without a sentence is told as it is", () => {
  expect(didOf("POST /v1/instances/{id}/start")).toBe("activity.didStart");
  expect(didOf("POST /v1/something-new")).toBe("activity.didOther");
});

test("what it was done to is what was created, or the last id of the path", () => {
  expect(targetOf({ path: "/v1/instances", created: "/v1/instances/inst_01939f0a7c3d" })).toBe(
    "inst_01939f0a7c3d",
  );
  expect(targetOf({ path: "/v1/tenants/ten_01939f0a7c3d/members/usr_01939f0a7c3e", created: null })).toBe(
    "usr_01939f0a7c3e",
  );
  expect(targetOf({ path: "/v1/sessions", created: null })).toBeNull();
});
