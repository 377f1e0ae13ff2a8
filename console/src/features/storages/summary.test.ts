import { expect, test } from "vitest";
import type { Storage } from "@/api/generated/types";
import { summaryOf } from "./summary";

const make = (more: Partial<Storage>) =>
  ({
    kind: "volume",
    state: "available",
    size_gib: 100,
    price_per_gib_month: "0.03",
    currency: "USD",
    attachments: [],
    ...more,
  }) as Storage;

test("sizes and prices are added, by currency", () => {
  const summary = summaryOf([
    make({ size_gib: 40 }),
    make({ kind: "bucket", size_gib: 500, price_per_gib_month: "0.01" }),
    make({ size_gib: 10, currency: "EUR" }),
  ]);
  expect(summary).toMatchObject({ count: 3, size: 550 });
  expect([...summary.price]).toEqual([
    ["USD", 6_200_000n],
    ["EUR", 300_000n],
  ]);
});

test("a volume that nobody mounts costs for nothing; a bucket is not mounted", () => {
  const mounted = [{ instance_id: "inst_1", mode: "read_write", since: "" }] as never;
  const summary = summaryOf([
    make({}),
    make({ attachments: mounted }),
    make({ kind: "bucket" }),
    make({ state: "failed" }),
  ]);
  expect(summary).toMatchObject({ unused: 1, failed: 1 });
  expect(summary.unusedPrice.get("USD")).toBe(3_000_000n);
});
