import { expect, test } from "vitest";
import type { Offer, StorageOffer } from "@/api/generated/types";
import { cheapest, estimateOf, numberOf } from "./estimate";

const offer = (name: string, price: string, room: "many" | "none" = "many", currency = "USD") =>
  ({ name, price_per_hour: price, currency, datacenters: [{ name: "uk-1", room }] }) as Offer;
const ssd = {
  name: "ssd",
  min_size_gib: 1,
  max_size_gib: 2048,
  price_per_gib_month: "0.03",
  currency: "USD",
} as StorageOffer;
const draft = { gpu: "4090", hours: "8", days: "22", storage: "ssd", gib: "100" };

test("hours by days and GiB add up exactly", () => {
  const { estimate, wrong } = estimateOf(draft, [offer("4090", "0.74")], [ssd]);
  expect(wrong).toEqual({});
  expect(estimate?.gpu.get("USD")).toBe(130_240_000n);
  expect(estimate?.storage.get("USD")).toBe(3_000_000n);
  expect(estimate?.month.get("USD")).toBe(133_240_000n);
});

test("currencies are not added", () => {
  const { estimate } = estimateOf(draft, [offer("4090", "0.74", "many", "EUR")], [ssd]);
  expect([...(estimate?.month ?? [])]).toEqual([
    ["EUR", 130_240_000n],
    ["USD", 3_000_000n],
  ]);
});

test("what is no number between the limits is wrong at its field", () => {
  const bad = { ...draft, hours: "25", days: "1.5", gib: "0" };
  expect(estimateOf(bad, [offer("4090", "0.74")], [ssd])).toEqual({
    estimate: null,
    wrong: { hours: true, days: true, gib: true },
  });
  expect(numberOf("7,5", 0, 24, false)).toBe(7.5);
  expect(numberOf("", 0, 24)).toBeNull();
  expect(numberOf("1e1", 0, 31)).toBe(10);
});

test("without a storage only the GPU counts", () => {
  const { estimate } = estimateOf({ ...draft, storage: "", gib: "x" }, [offer("4090", "0.74")], [ssd]);
  expect(estimate?.month.get("USD")).toBe(130_240_000n);
});

test("the price from is that of what can be started", () => {
  expect(cheapest([offer("a", "0.9"), offer("b", "0.2", "none"), offer("c", "0.26")])?.name).toBe("c");
  expect(cheapest([offer("b", "0.2", "none")])?.name).toBe("b");
  expect(cheapest([])).toBeUndefined();
});
