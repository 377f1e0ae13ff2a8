import { getModelContent } from "@/api/generated/operations";
import type { Model, ModelId } from "@/api/generated/types";
import { pathOf } from "@/api/path";

/** The address of a model's file. It leads to the object store. */
export const filePath = (id: ModelId) => pathOf(getModelContent.path, { path: { id } });

/** Where a file is laid unless another path is given, by the rule of the API. */
export function defaultPath({ id, name }: Pick<Model, "id" | "name">): string {
  const plain = Array.from(name, (c) => (/[A-Za-z0-9_-]/.test(c) ? c : "-"))
    .slice(0, 60)
    .join("");
  const stem = plain.replace(/^-+|-+$/g, "");
  return `models/Lora/${stem}${stem && "-"}${id.replace(/^mdl_/, "").replaceAll("-", "").slice(-8)}.safetensors`;
}

/** How a prompt of Stable Diffusion WebUI names a file in its folder of adapters; null for files elsewhere. */
export function promptTag(path: string): string | null {
  const stem = /^models\/Lora\/(?:.*\/)?([^/]+)\.safetensors$/.exec(path)?.[1];
  return stem ? `<lora:${stem}:0.8>` : null;
}
