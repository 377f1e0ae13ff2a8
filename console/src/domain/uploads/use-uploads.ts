import { useEffect, useRef, useState } from "react";
import type { UploadId } from "@/api/generated/types";
import { type Refusal, refusalOf } from "./rules";
import { hashOf, sendFile } from "./send";

/** Edge of a picture in the page, in pixels. */
const SMALL = 360;

export interface Picture {
  key: string;
  file: File;
  small: ImageBitmap | null;
  width: number;
  height: number;
  sha256: string;
  state: "reading" | "sending" | "ready" | "cut" | "refused";
  /** Bytes that have left. */
  sent: number;
  upload: UploadId | null;
  refusal: Refusal | null;
  error: unknown;
}

const begun = (file: File): Picture => ({
  key: crypto.randomUUID(),
  file,
  small: null,
  width: 0,
  height: 0,
  sha256: "",
  state: "reading",
  sent: 0,
  upload: null,
  refusal: null,
  error: null,
});

async function shrink(file: File) {
  const whole = await createImageBitmap(file);
  const { width, height } = whole;
  const scale = Math.min(1, SMALL / Math.max(width, height));
  const small = await createImageBitmap(whole, {
    resizeWidth: Math.max(1, Math.round(width * scale)),
    resizeHeight: Math.max(1, Math.round(height * scale)),
    resizeQuality: "high",
  });
  whole.close();
  return { small, width, height };
}

export interface Uploads {
  pictures: readonly Picture[];
  add: (files: readonly File[]) => void;
  /** Takes one away; one that is being sent is stopped. */
  remove: (key: string) => void;
  /** Sends one again that was cut. */
  resume: (key: string) => void;
  /** The platform no longer has these. */
  lose: (ids: readonly string[]) => void;
}

/** Pictures that are read, hashed and sent as soon as they are chosen. They end with the page. */
export function useUploads(): Uploads {
  const [pictures, setPictures] = useState<readonly Picture[]>([]);
  const running = useRef(new Map<string, AbortController>());
  useEffect(() => {
    const all = running.current;
    return () => {
      for (const one of all.values()) one.abort();
    };
  }, []);
  const change = (key: string, next: Partial<Picture>) =>
    setPictures((old) => old.map((it) => (it.key === key ? { ...it, ...next } : it)));
  const send = async (picture: Picture, { signal }: AbortController) => {
    const { key, file, sha256 } = picture;
    change(key, { state: "sending", sent: 0, error: null });
    await sendFile(file, {
      sha256,
      signal,
      earlier: picture.upload,
      onMade: (upload) => change(key, { upload }),
      onProgress: (sent) => change(key, { sent }),
    }).then(
      (upload) => change(key, { state: "ready", sent: file.size, upload }),
      (error: unknown) => !signal.aborted && change(key, { state: "cut", error }),
    );
  };
  const start = (key: string) => {
    const control = new AbortController();
    running.current.set(key, control);
    return control;
  };
  const read = async (picture: Picture, known: Set<string>) => {
    const { key, file } = picture;
    const control = start(key);
    const refusal = refusalOf(file);
    if (refusal) return change(key, { state: "refused", refusal });
    const seen = await shrink(file).catch(() => null);
    if (!seen) return change(key, { state: "refused", refusal: "unreadable" });
    const sha256 = await hashOf(file);
    if (control.signal.aborted) return;
    if (known.has(sha256)) return change(key, { ...seen, state: "refused", refusal: "twice" });
    known.add(sha256);
    change(key, { ...seen, sha256 });
    await send({ ...picture, sha256 }, control);
  };
  return {
    pictures,
    add: (files) => {
      const added = files.map(begun);
      const known = new Set(pictures.filter((it) => it.state !== "refused").map((it) => it.sha256));
      setPictures((old) => [...old, ...added]);
      for (const one of added) void read(one, known);
    },
    remove: (key) => {
      running.current.get(key)?.abort();
      setPictures((old) => old.filter((it) => it.key !== key));
    },
    resume: (key) => {
      const picture = pictures.find((it) => it.key === key);
      if (picture) void send(picture, start(key));
    },
    lose: (ids) =>
      setPictures((old) =>
        old.map((it) =>
          it.upload && ids.includes(it.upload) ? { ...it, state: "cut", upload: null, sent: 0 } : it,
        ),
      ),
  };
}
