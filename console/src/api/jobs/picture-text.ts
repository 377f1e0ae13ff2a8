import { queryOptions } from "@tanstack/react-query";
import { environment } from "@/api/client";
import { getJobArtifactContent } from "@/api/generated/operations";
import type { Artifact, ArtifactId, JobId } from "@/api/generated/types";
import { pathOf } from "@/api/path";
import { inTurn } from "@/lib/turns";

/** How a picture was made, as its engine wrote it into the file. */
export interface PictureText {
  prompt: string;
  negative_prompt: string;
  model: string | null;
  sampler: string | null;
  seed: number | null;
  steps: number | null;
  cfg_scale: number | null;
  width: number | null;
  height: number | null;
  /** Models of the tenant that adapted it. */
  models: { id: string; weight: number }[];
}

/** The text is before the picture itself: the beginning of the file is enough. */
const BEGINNING = 16_384;

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** The text `parameters` of a PNG, also of one that is cut off after it. */
export function pngText(bytes: Uint8Array): string | null {
  if (SIGNATURE.some((byte, i) => bytes[i] !== byte)) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  for (let at = 8; at + 8 <= bytes.length; ) {
    const length = view.getUint32(at);
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    const data = bytes.subarray(at + 8, at + 8 + length);
    if (type === "IDAT") return null;
    if (data.length < length) return null;
    const end = data.indexOf(0);
    const key = String.fromCharCode(...data.subarray(0, Math.max(0, end)));
    if (type === "tEXt" && key === "parameters")
      return new TextDecoder("latin1").decode(data.subarray(end + 1));
    // uncompressed international text: two flags, a language and a translation before it
    if (type === "iTXt" && key === "parameters" && data[end + 1] === 0) {
      const language = data.indexOf(0, end + 3);
      const translated = data.indexOf(0, language + 1);
      return new TextDecoder().decode(data.subarray(translated + 1));
    }
    at += 12 + length;
  }
  return null;
}

/** The form in which the WebUI writes it: prompt, what to leave out, a line of settings. */
export function readPictureText(text: string): PictureText {
  const lines = text.trim().split("\n");
  const settings = /^Steps: /.test(lines.at(-1) ?? "") ? (lines.pop() ?? "") : "";
  const begin = lines.findIndex((it) => it.startsWith("Negative prompt: "));
  const wanted = lines.slice(0, begin < 0 ? undefined : begin).join("\n");
  const unwanted = begin < 0 ? "" : lines.slice(begin).join("\n").replace("Negative prompt: ", "");
  const values = new Map(
    [...settings.matchAll(/([A-Z][\w ]*): ("(?:[^"\\]|\\.)*"|[^,]*)/g)].map((it) => [it[1], it[2]?.trim()]),
  );
  const number = (name: string) => {
    const value = Number(values.get(name) ?? Number.NaN);
    return Number.isFinite(value) ? value : null;
  };
  const [width, height] = (values.get("Size") ?? "").split("x").map(Number);
  const models = [...wanted.matchAll(/<lora:(mdl_[a-z0-9]+)[^:>]*:(-?[\d.]+)>/g)];
  return {
    prompt: wanted.replace(/\s*<lora:[^>]*>/g, "").trim(),
    negative_prompt: unwanted.trim(),
    model: values.get("Model") ?? null,
    sampler: [values.get("Sampler"), values.get("Schedule type")].filter(Boolean).join(" ") || null,
    seed: number("Seed"),
    steps: number("Steps"),
    cfg_scale: number("CFG scale"),
    width: width || null,
    height: height || null,
    models: models.map(([, id = "", weight]) => ({ id, weight: Number(weight) })),
  };
}

/** Where a picture is: the API redirects to a signed address. */
export const contentPath = (job: JobId, artifact: ArtifactId) =>
  pathOf(getJobArtifactContent.path, { path: { id: job, artifact_id: artifact } });

/** The object store has refused a page to read once: it refuses the next one, too. */
let isClosed = false;

/** Null of a picture without text, and where the object store does not let pages read. */
export const pictureText = (job: JobId, artifact: Pick<Artifact, "id" | "content_type">) =>
  queryOptions({
    queryKey: ["picture-text", artifact.id],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }): Promise<PictureText | null> => {
      if (artifact.content_type !== "image/png" || isClosed) return null;
      const response = await inTurn(() =>
        environment
          .fetch(contentPath(job, artifact.id), {
            headers: { range: `bytes=0-${BEGINNING - 1}` },
            credentials: "same-origin",
            signal,
          })
          .catch(() => null),
      );
      if (!response && !signal.aborted) isClosed = true;
      if (!response?.ok) return null;
      const text = pngText(new Uint8Array(await response.arrayBuffer()));
      return text === null ? null : readPictureText(text);
    },
  });
