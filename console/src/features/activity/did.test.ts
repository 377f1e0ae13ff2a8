import { expect, test } from "vitest";
import * as operations from "@/api/generated/operations";
import { didOf, targetOf } from "./did";
import { sentences } from "./sentences";

/** They only calculate: nothing is recorded of them. */
const quotes = ["POST /v1/instances/quote", "POST /v1/jobs/quote"];
const writes = Object.values(operations)
  .map(({ method, path }) => ({ method, name: `${method} ${path}` }))
  .filter(({ method, name }) => method !== "GET" && !quotes.includes(name))
  .map(({ name }) => name);

test("each operation of the API that writes has its sentence, and no other", () => {
  expect(writes.filter((name) => didOf(name) === "activity.didOther")).toEqual([]);
  const ofTheApi = Object.keys(sentences).filter((name) => !name.includes(" /internal/"));
  expect(ofTheApi.filter((name) => !writes.includes(name))).toEqual([]);
});

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
