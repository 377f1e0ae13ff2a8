import { call } from "@/api/client";
import { createUpload, getUpload } from "@/api/generated/operations";
import type { UploadId } from "@/api/generated/types";
import { ApiError } from "@/api/problem";
import { objectStore } from "@/api/put";
import { plainName } from "./rules";

/** The object store did not take the file. */
export class StoreError extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`the object store answered ${status}`);
    this.name = "StoreError";
    this.status = status;
  }
}

export async function hashOf(file: Blob): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether the content of an upload has arrived, although its answer has not. */
async function hasArrived(id: UploadId, signal: AbortSignal): Promise<boolean> {
  try {
    return (await call(getUpload, { path: { id } }, { signal })).state === "ready";
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return false;
    throw error;
  }
}

interface Options {
  sha256: string;
  signal: AbortSignal;
  /** The upload of a try that was cut. */
  earlier: UploadId | null;
  onMade: (id: UploadId) => void;
  onProgress: (bytes: number) => void;
}

/** Announces the file and sends it. A signed address is for one file and 15 minutes, so each try has its own. */
export async function sendFile(file: File, options: Options): Promise<UploadId> {
  const { signal, earlier } = options;
  if (earlier && (await hasArrived(earlier, signal))) return earlier;
  const body = {
    name: plainName(file.name),
    content_type: file.type,
    bytes: file.size,
    sha256: options.sha256,
  };
  const made = await call(createUpload, { body }, { signal });
  options.onMade(made.id);
  if (!made.put_url) throw new StoreError(0);
  const status = await objectStore.put(made.put_url, file, options);
  if (status < 200 || status > 299) throw new StoreError(status);
  return made.id;
}
