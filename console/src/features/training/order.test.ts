import { expect, test } from "vitest";
import type { UploadId } from "@/api/generated/types";
import { canQuote, type Draft, draftLike, emptyDraft, missingOf, orderOf, quotedPart } from "./order";

const images = ["upl_1", "upl_2", "upl_3"] as UploadId[];
const draft = (more: Partial<Draft> = {}): Draft => ({
  ...emptyDraft("sdxl-1.0"),
  "parameters.theme": " dog ",
  ...more,
});

test("the body has what was filled in, and the API's defaults for the rest", () => {
  expect(orderOf(draft(), images, "USD")).toEqual({
    application: "dreambooth",
    method: "train",
    parameters: { images, theme: "dog", token: "sks", base_model: "sdxl-1.0", steps: 400, rank: 8 },
    level: "ordinary",
  });
  const more = { "parameters.name": "Rex", "max_cost.amount": "0.5", level: "urgent" } as const;
  expect(orderOf(draft({ ...more, "parameters.base_model": "default" }), images, "USD")).toMatchObject({
    parameters: { name: "Rex" },
    max_cost: { amount: "0.5", currency: "USD" },
    level: "urgent",
  });
});

test("asked for again, it is as it was, without its pictures", () => {
  const asked = draft({ "parameters.theme": "dog", "parameters.steps": "800", "max_cost.amount": "0.5" });
  expect(draftLike(orderOf(asked, images, "USD"))).toEqual(asked);
});

test("a quote does not change with texts", () => {
  const other = draft({ "parameters.theme": "woman", "parameters.name": "Heroine", "max_cost.amount": "3" });
  expect(quotedPart(other, images)).toEqual(quotedPart(draft(), images));
  expect(quotedPart(draft({ "parameters.steps": "800" }), images)).not.toEqual(quotedPart(draft(), images));
});

test("a quote needs three to five pictures and whole numbers", () => {
  expect(canQuote(draft(), 3)).toBe(true);
  expect(canQuote(draft(), 2)).toBe(false);
  expect(canQuote(draft(), 6)).toBe(false);
  expect(canQuote(draft({ "parameters.steps": "4001" }), 3)).toBe(false);
  expect(canQuote(draft({ "parameters.rank": "" }), 3)).toBe(false);
});

test("what is missing stands at its field", () => {
  expect(missingOf(draft(), 4)).toEqual({});
  const wrong = draft({
    "parameters.theme": "",
    "parameters.token": "two words",
    "parameters.name": "x".repeat(101),
    "parameters.steps": "0",
    "parameters.rank": "65",
    "max_cost.amount": "0",
  });
  expect(Object.keys(missingOf(wrong, 2))).toEqual([
    "parameters.images",
    "parameters.theme",
    "parameters.token",
    "parameters.name",
    "parameters.steps",
    "parameters.rank",
    "max_cost.amount",
  ]);
});
