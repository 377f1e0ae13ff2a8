import { expect, test } from "vitest";
import {
  draftLike,
  emptyDraft,
  isQuotable,
  mistakesOf,
  orderOf,
  quotedPart,
  shapeOf,
  sizeFor,
} from "./order";

const draft = { ...emptyDraft, "parameters.prompt": " a fox " };

test("a prompt is enough", () => {
  expect(mistakesOf(draft, false)).toEqual({});
  expect(orderOf(draft, "USD", undefined)).toEqual({
    application: "stable-diffusion",
    method: "txt2img",
    parameters: { prompt: "a fox", width: 768, height: 768, images: 1, steps: 20, cfg_scale: 7 },
    level: "ordinary",
  });
});

test("what is chosen is sent, and a picture makes it begin there", () => {
  const order = orderOf(
    {
      ...draft,
      "parameters.seed": "7",
      "parameters.model": "sdxl-1.0",
      "parameters.models": [
        { id: "mdl_1", weight: "0.7" },
        { id: "", weight: "1" },
      ],
      pool: "generation",
      "max_cost.amount": "0.5",
    },
    "EUR",
    "art_1",
  );
  expect(order).toMatchObject({
    method: "img2img",
    pool: "generation",
    max_cost: { amount: "0.5", currency: "EUR" },
    parameters: { seed: 7, model: "sdxl-1.0", models: [{ id: "mdl_1", weight: 0.7 }], image: "art_1" },
  });
});

test("the price does not depend on words, seed and limit", () => {
  const other = { ...draft, "parameters.prompt": "a hare", "parameters.seed": "9", "max_cost.amount": "1" };
  expect(quotedPart(orderOf(other, "USD", undefined))).toEqual(quotedPart(orderOf(draft, "USD", undefined)));
});

test("what is wrong is said of each field", () => {
  const wrong = {
    ...emptyDraft,
    "parameters.width": "700",
    "parameters.height": "4096",
    "parameters.seed": "-1",
    "parameters.steps": "2.5",
    "parameters.cfg_scale": "",
    "max_cost.amount": "1,5",
  };
  expect(Object.keys(mistakesOf(wrong, false))).toEqual([
    "parameters.prompt",
    "parameters.width",
    "parameters.height",
    "parameters.seed",
    "parameters.steps",
    "parameters.cfg_scale",
    "max_cost.amount",
  ]);
  expect(isQuotable(wrong)).toBe(false);
  expect(isQuotable(emptyDraft)).toBe(true);
});

test("shapes keep the number of pixels, on the grid", () => {
  expect(sizeFor("square", "medium")).toEqual({ width: "768", height: "768" });
  expect(sizeFor("wide", "large")).toEqual({ width: "1368", height: "768" });
  expect(shapeOf("1368", "768")).toEqual({ shape: "wide", scale: "large" });
  expect(shapeOf("640", "480")).toBeNull();
});

test("like another job, but with another seed", () => {
  const like = draftLike(
    {
      prompt: "a fox",
      negative_prompt: "text",
      model: null,
      models: [{ id: "mdl_1", weight: 0.5 }],
      width: 1024,
      height: null,
      steps: 30,
      cfg_scale: null,
      seed: 7,
      images: 4,
      sampler: null,
    },
    { level: "urgent" },
  );
  expect(like).toMatchObject({
    "parameters.prompt": "a fox",
    "parameters.model": "default",
    "parameters.width": "1024",
    "parameters.height": "768",
    "parameters.seed": "",
    "parameters.images": "4",
    level: "urgent",
  });
});
