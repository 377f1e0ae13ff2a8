import { expect, test } from "vitest";
import { nameOf, parametersOf, withText } from "./parameters";

const order = (parameters: Record<string, unknown>, application = "stable-diffusion") => ({
  application,
  method: "txt2img",
  parameters,
});

test("what a browser has asked for", () => {
  const known = parametersOf(
    order({ prompt: "a fox", seed: -1, images: 4, models: ["mdl_1", { id: "mdl_2", weight: 0.5 }] }),
  );
  expect(known).toMatchObject({ prompt: "a fox", seed: null, images: 4, width: null });
  expect(known?.models).toEqual([
    { id: "mdl_1", weight: 1 },
    { id: "mdl_2", weight: 0.5 },
  ]);
  expect(parametersOf(order({ command: ["a"] }, "command"))).toBeNull();
  expect(parametersOf(undefined)).toBeNull();
});

test("the file of a picture has the seed that was drawn", () => {
  const known = parametersOf(order({ prompt: "a fox", images: 4 }));
  const written = { ...(known as NonNullable<typeof known>), seed: 7 };
  expect(withText(known, written)).toMatchObject({ seed: 7, images: 4 });
  expect(withText(known, null)).toBe(known);
  expect(withText(null, written)).toMatchObject({ seed: 7, images: null });
});

test("a job is called by what it makes or runs", () => {
  expect(nameOf(order({ prompt: "a fox\nin  snow" }))).toBe("a fox in snow");
  expect(nameOf(order({ command: ["python3", "train.py"] }, "command"))).toBe("python3 train.py");
  expect(nameOf(order({ prompt: " " }))).toBeNull();
});
