import { expect, test } from "vitest";
import type { Role, TenantId } from "@/api/generated/types";
import { refusalOf } from "./can";

const as = (role: Role | null) => ({ tenant_id: role && ("ten_1" as TenantId), role });

test("each role may what the roles before it may", () => {
  expect(refusalOf(as("viewer"), "keys.write")).toBeNull();
  expect(refusalOf(as("viewer"), "instances.write")).toBe("needs-member");
  expect(refusalOf(as("member"), "instances.write")).toBeNull();
  expect(refusalOf(as("member"), "members.invite")).toBe("needs-owner");
  expect(refusalOf(as("owner"), "members.invite")).toBeNull();
});

test("without a studio there is nothing to act on", () => {
  expect(refusalOf(as(null), "keys.write")).toBe("no-tenant");
});
