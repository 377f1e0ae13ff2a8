import type { NewJob } from "../../src/api/generated/types";
import { type Context, Refusal } from "../types.ts";
import type { Lesson } from "./training.ts";

/** What `dreambooth.train` takes. */
export function lessonOf({ backend, caller }: Context, { parameters }: NewJob): Lesson {
  const errors: { pointer: string; detail: string }[] = [];
  const wrong = (name: string, detail: string) => errors.push({ pointer: `/parameters/${name}`, detail });
  const text = (name: string) => {
    const value = parameters[name];
    return typeof value === "string" ? value.trim() : "";
  };
  const whole = (name: string, usual: number, most: number) => {
    const value = Number(parameters[name] ?? usual);
    if (!Number.isInteger(value) || value < 1 || value > most) wrong(name, `must be from 1 to ${most}`);
    return value;
  };
  const images = Array.isArray(parameters.images) ? parameters.images.map(String) : [];
  if (images.length < 3 || images.length > 5) wrong("images", "must be 3 to 5");
  const theme = text("theme");
  if (!theme || theme.length > 100) wrong("theme", "must be 1 to 100 visible characters");
  if (parameters.token !== undefined && !/^[A-Za-z0-9]{1,32}$/.test(text("token")))
    wrong("token", "must be letters and digits");
  const steps = whole("steps", 400, 4000);
  const rank = whole("rank", 8, 64);
  if (errors.length > 0) throw new Refusal("invalid-field", { errors });
  const missing = images.filter(
    (id) =>
      !backend.uploads.some(
        (it) => it.id === id && it.tenant_id === caller.session.tenant_id && it.state === "ready",
      ),
  );
  if (missing.length > 0) throw new Refusal("input-missing", { members: { inputs: missing } });
  return {
    name: text("name") || theme,
    theme,
    base_model: text("base_model") || "default",
    steps,
    images: images.length,
    rank,
    scene: "table",
  };
}
