import { expect, test } from "vitest";
import type { ModelId } from "@/api/generated/types";
import { defaultPath, promptTag } from "./files";

const id = "mdl_01939f0a7c3d7e6b8a1f2c3d5c2b1a00" as ModelId;

test("the default path is plain and of this model", () => {
  expect(defaultPath({ id, name: "our dog" })).toBe("models/Lora/our-dog-5c2b1a00.safetensors");
  expect(defaultPath({ id, name: "水墨" })).toBe("models/Lora/5c2b1a00.safetensors");
  expect(defaultPath({ id, name: "x".repeat(90) })).toBe(
    `models/Lora/${"x".repeat(60)}-5c2b1a00.safetensors`,
  );
});

test("a prompt names files that the WebUI finds", () => {
  expect(promptTag("models/Lora/our-dog-5c2b1a00.safetensors")).toBe("<lora:our-dog-5c2b1a00:0.8>");
  expect(promptTag("models/Lora/studio/gouache.safetensors")).toBe("<lora:gouache:0.8>");
  expect(promptTag("adapters/gouache.safetensors")).toBeNull();
});
