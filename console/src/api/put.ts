import { NetworkError } from "./problem";

interface PutOptions {
  signal: AbortSignal;
  /** How many bytes have left. */
  onProgress: (bytes: number) => void;
}

/** Replaced by the demo, which has no object store. */
export const objectStore = {
  /** Sends a file to a signed address, and returns the status of the answer. `fetch` does not tell how far it is. */
  put: (url: string, file: Blob, { signal, onProgress }: PutOptions): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open("PUT", url);
      request.setRequestHeader("content-type", file.type);
      request.upload.onprogress = ({ loaded }) => onProgress(loaded);
      request.onload = () => resolve(request.status);
      request.onerror = () => reject(new NetworkError(new Error("the upload was cut")));
      signal.addEventListener("abort", () => {
        request.abort();
        reject(signal.reason);
      });
      request.send(file);
    }),
};
