import type { Backend } from "./backend.ts";
import type { Caller, MockReply, MockRequest } from "./http.ts";
import { Refusal } from "./types.ts";

/** Files of models, which the API redirects to the object store, and uploads there. Null: it is no such request. */
export function answerFile(backend: Backend, request: MockRequest, caller: Caller | null): MockReply | null {
  const put = /^\/mock\/objects\/([^/]+)$/.exec(request.path);
  if (put && request.method === "PUT") return take(backend, put[1] ?? "", request);
  const model = /^\/v1\/models\/([^/]+)\/content$/.exec(request.path);
  if (!model) return null;
  if (!caller) throw new Refusal("unauthenticated");
  const found = backend.models.find((it) => it.id === model[1] && it.tenant_id === caller.session.tenant_id);
  if (!found) throw new Refusal("not-found");
  return {
    status: 200,
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${found.name}.safetensors"`,
    },
    bytes: new TextEncoder().encode("a file of the stand-in"),
  };
}

function take(backend: Backend, id: string, request: MockRequest): MockReply {
  const upload = backend.uploads.find((it) => it.id === id);
  const isRight =
    upload &&
    Number(request.headers.get("content-length") ?? upload.bytes) === upload.bytes &&
    request.headers.get("content-type") === upload.content_type;
  if (!isRight) return { status: 403, headers: {} };
  upload.state = "ready";
  return { status: 200, headers: {} };
}
