import type { Artifact, ArtifactId, Job, Model, ModelId, TenantId } from "../../src/api/generated/types";
import { makeId } from "../ids.ts";
import { drawing, type Scene } from "../pictures.ts";

/** What a training was asked for, as the service understands it. */
export interface Lesson {
  name: string;
  theme: string;
  base_model: string;
  steps: number;
  images: number;
  rank: number;
  scene: Scene;
}

const hash = (seed: string) =>
  Array.from({ length: 8 }, (_, i) =>
    [...`${seed}${i}`]
      .reduce((sum, c) => (Math.imul(sum, 31) + c.charCodeAt(0)) >>> 0, 7 + i)
      .toString(16)
      .padStart(8, "0"),
  ).join("");

/** The same at each call: loss that falls, with the noise of single steps. */
function losses({ steps, name }: Lesson): string {
  let seed = name.length * 7919;
  const noise = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647 - 0.5;
  };
  const lines = Array.from({ length: steps }, (_, i) => {
    const trend = 0.052 + 0.12 * Math.exp(-i / (steps * 0.18)) + 0.012 * Math.exp(-i / steps);
    return `${i + 1},${(trend * (1 + 0.5 * noise())).toFixed(6)}`;
  });
  return `step,loss\n${lines.join("\n")}\n`;
}

const bytesOf = ({ base_model, rank }: Lesson) =>
  (base_model === "sd-1.5" ? 199_184 : 1_452_968) * rank + 41_216;

/** What a training leaves. */
export function resultsOf(lesson: Lesson, n: number, created_at: string): Artifact[] {
  const result = (i: number, name: string, content_type: string, bytes: number): Artifact => ({
    id: makeId<ArtifactId>("art", n * 10 + i),
    name,
    content_type,
    sha256: hash(`${lesson.name}/${name}`),
    bytes,
    created_at,
  });
  return [
    result(1, "loss.csv", "text/csv", losses(lesson).length),
    result(2, "model.safetensors", "application/octet-stream", bytesOf(lesson)),
    result(3, "preview.png", "image/png", 1_482_113),
  ];
}

/** What stands in such a file here. */
export function resultText(lesson: Lesson, { name }: Artifact): { type: string; text: string } {
  if (name === "loss.csv") return { type: "text/csv", text: losses(lesson) };
  if (name === "preview.png") return { type: "image/svg+xml", text: drawing(lesson.scene) };
  return { type: "application/octet-stream", text: "a file of the stand-in" };
}

/** The model of a training. */
export const modelFrom = (
  lesson: Lesson,
  { tenant_id, it }: { tenant_id: TenantId; it: Job },
  id: ModelId,
  at: string,
): Model & { tenant_id: TenantId } => ({
  tenant_id,
  id,
  name: lesson.name,
  kind: "lora",
  base_model: lesson.base_model,
  job_id: it.id,
  sha256: hash(`${lesson.name}/model.safetensors`),
  bytes: bytesOf(lesson),
  created_at: at,
  updated_at: at,
});
