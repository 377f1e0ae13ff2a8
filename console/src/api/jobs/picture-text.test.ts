import { expect, test } from "vitest";
import { pngOf } from "../../../mock/png";
import { pngText, readPictureText } from "./picture-text";

const text = [
  "harbour at dawn, two boats <lora:mdl_01939f-job_7a:0.7>",
  "wide sky",
  "Negative prompt: people, text",
  'Steps: 30, Sampler: DPM++ 2M, Schedule type: Karras, CFG scale: 6.5, Seed: 2218841073, Size: 1536x1024, Model hash: 31e3, Model: sdxl-1.0, Lora hashes: "a: 1, b: 2", Version: v1.10.1',
].join("\n");

test("what the WebUI writes", () => {
  expect(readPictureText(text)).toEqual({
    prompt: "harbour at dawn, two boats\nwide sky",
    negative_prompt: "people, text",
    model: "sdxl-1.0",
    sampler: "DPM++ 2M Karras",
    seed: 2218841073,
    steps: 30,
    cfg_scale: 6.5,
    width: 1536,
    height: 1024,
    models: [{ id: "mdl_01939f", weight: 0.7 }],
  });
  expect(readPictureText("only words")).toMatchObject({ prompt: "only words", seed: null, model: null });
});

test("the text of a picture, from its beginning alone", async () => {
  const whole = await pngOf({ prompt: "hills", seed: 1, width: 64, height: 64, text });
  expect(pngText(whole)).toBe(text);
  expect(pngText(whole.subarray(0, 600))).toBe(text);
  expect(pngText(whole.subarray(0, 60))).toBeNull();
  expect(pngText(new TextEncoder().encode("<svg/>"))).toBeNull();
});
